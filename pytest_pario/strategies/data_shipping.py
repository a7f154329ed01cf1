"""Data shipping: blocks of one stripe bound to agents in turn (GPFS-36, GPFS-37)."""

from __future__ import annotations

from typing import ClassVar

from pytest_pario.schemes.partition import PartitionMap
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.schemes.shipping import BLOCK, ShippingMode
from pytest_pario.strategies.exchange import exchange
from pytest_pario.strategies.protocol import Movement, Site, gather_ranges
from pytest_pario.strategies.routes import Guide, Route


class DataShipping:
    """Agents alone touch the file, whatever the ranks ask for; each holds one stripe at a time."""

    name: ClassVar[str] = "data_shipping"

    def __init__(self, settings: StrategySettings) -> None:
        """The stripe is the buffer size in whole blocks."""
        self._agents = settings.agents
        self._guide = Guide(settings.max_pre, settings.max_acc) if settings.max_pre else None
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
            first, end = int(asking[:, 0].min()), int(asking[:, 1].max())
            ahead = self._guide is not None and not moved.writes
            exchange(site, moved, (self._guided_route if ahead else self._route)(agents, first, end))
        finally:
            self.mode.end()

    def _route(self, agents: tuple[int, ...], first: int, end: int) -> Route:
        return Route(PartitionMap(self.mode.stripe, agents), first, end)

    def _guided_route(self, agents: tuple[int, ...], first: int, end: int) -> Route:
        """The same binding in file blocks, each of which is read from the first byte wanted of it to the last."""
        block, count = self.mode.block, self.mode.stripe // self.mode.block
        return Route(PartitionMap(block, agents, run=count), first, end, count, gap=block, guide=self._guide)
