"""Two-phase: every agent has one contiguous domain of the file, block by block of its buffer."""

from __future__ import annotations

from typing import ClassVar

from pytest_pario.schemes.partition import contiguous_domains
from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.schemes.timed import is_ordered
from pytest_pario.strategies.exchange import exchange
from pytest_pario.strategies.own import Joining, move_directly
from pytest_pario.strategies.protocol import Movement, Site, gather_ranges
from pytest_pario.strategies.routes import Route

PAGE = 4096
"""Domains begin at pages, so that no two agents write the same one."""
OWN = Joining(unit=1 << 62, alone=True)
"""Where ranges do not overlap, what lies in a rank's short holes is touched by nobody else: it is moved along."""


class TwoPhase:
    """Where ranks do not interleave each one moves its own; else data go through the agents."""

    name: ClassVar[str] = "two_phase"

    def __init__(self, settings: StrategySettings) -> None:
        """Keep buffer size and number of agents."""
        self._settings = settings

    def carry_out(self, site: Site, moved: Movement) -> None:
        """One collective call."""
        ranges = gather_ranges(site.comm, moved)
        # also where nobody asks for anything
        if is_ordered(*ranges.T.tolist()):
            move_directly(site, moved, OWN, self._settings.buffer_bytes)
            return
        asking = ranges[ranges[:, 1] > ranges[:, 0]]
        agents = range(min(self._settings.agents or site.comm.size, site.comm.size))
        first, end = int(asking[:, 0].min()), int(asking[:, 1].max())
        domains = contiguous_domains(first, end, agents, self._settings.buffer_bytes, PAGE)
        exchange(site, moved, Route(domains, first, end))
