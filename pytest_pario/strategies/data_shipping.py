"""Data shipping: blocks of one stripe bound to agents in turn (GPFS-36, GPFS-37)."""

from __future__ import annotations

from typing import ClassVar

from pytest_pario.schemes.partition import PartitionMap
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.schemes.shipping import BLOCK, ShippingMode
from pytest_pario.strategies.exchange import exchange
from pytest_pario.strategies.protocol import Movement, Site, gather_ranges
from pytest_pario.strategies.routes import Route


class DataShipping:
    """Agents alone touch the file, whatever the ranks ask for; each holds one stripe at a time."""

    name: ClassVar[str] = "data_shipping"

    def __init__(self, settings: StrategySettings) -> None:
        """The stripe is the buffer size in whole blocks."""
        self._agents = settings.agents
        self.mode = ShippingMode(settings.block or BLOCK, settings.stripe or 0)

    def carry_out(self, site: Site, moved: Movement) -> None:
        """One collective call."""
        ranges = gather_ranges(site.comm, moved)
        asking = ranges[ranges[:, 1] > ranges[:, 0]]
        if not len(asking):
            return
        agents = tuple(range(min(self._agents or site.comm.size, site.comm.size)))
        self.mode.begin()
        try:
            bound = PartitionMap(self.mode.stripe, agents)
            exchange(site, moved, Route(bound, int(asking[:, 0].min()), int(asking[:, 1].max())))
        finally:
            self.mode.end()
