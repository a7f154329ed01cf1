"""The parameters of modelled storage, and how a range of the file falls on its nodes."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from pytest_pario.errors import ParameterError
from pytest_pario.units import MB, KiB

SubRequest = tuple[int, int, int]
"""Node, local offset and bytes."""


@dataclass(frozen=True)
class Storage:
    """M nodes with a disk and a link each; the defaults come near the published demonstration (SIM-08)."""

    nodes: int = 4
    """I/O nodes, M."""
    unit: int = 64 * KiB
    """Striping unit, u."""
    disk_rate: float = 45.0 * MB
    """Bytes per second that a disk delivers in sequence, D."""
    seek_s: float = 3.8e-3
    """What a request costs that does not begin where the head is, p."""
    link_rate: float = 112.0 * MB
    """Bytes per second of each node's and each client's link, B."""
    overhead_s: float = 0.35e-3
    """Travel and handling of a request, half before and half after it, o."""
    fragment: int = 256 * KiB
    """Bytes that a node reads before it looks at its next request, F."""
    read_ahead: int = 64 * KiB
    """Bytes that an idle disk reads on, RA."""
    jitter_s: float = 0.10e-3
    """Mean of the random part of a request's travel."""
    sync_s: float = 2.0e-3
    """Cost of a collective synchronisation of four processes, c; it grows with log2 of their number."""
    delay_s: float = 0.5e-3
    """What a timed process waits before the next one may send (RES-21)."""
    lock_unit: int = 0
    """Node-local bytes that one lock token covers; 0 has no locks."""
    token_s: float = 2.0e-3
    """What it costs to take a token away from another client."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            positive = field.name in ("nodes", "unit", "disk_rate", "link_rate", "fragment")
            if not (math.isfinite(value) and (value > 0 if positive else value >= 0)):
                allowed = "positive" if positive else "0 or more"
                raise ParameterError(f"storage.{field.name}", value, allowed, "simulation")

    def cut(self, offset: int, length: int, base: int = 0) -> list[SubRequest]:
        """A contiguous range as at most one sub-request per node: its pieces on a node are adjacent there (SIM-02).

        `base` moves everything on each disk, for files that lie elsewhere.
        """
        unit, nodes = self.unit, self.nodes
        if length <= 0:
            return []
        first, last = offset // unit, (offset + length - 1) // unit
        found = []
        for number in range(first, min(last, first + nodes - 1) + 1):
            # blocks number, number + M, … of this node, up to the last that the range touches
            final = last - (last - number) % nodes
            head = offset - number * unit if number == first else 0
            tail = offset + length - final * unit if final == last else unit
            local, end = number // nodes * unit + head, final // nodes * unit + tail
            found.append((number % nodes, base + local, end - local))
        return found

    def cut_many(self, ranges: list[tuple[int, int]], base: int = 0) -> list[SubRequest]:
        """Several ranges, each cut; what is adjacent on a node becomes one sub-request."""
        joined: dict[int, list[list[int]]] = {}
        for offset, length in ranges:
            for node, local, size in self.cut(offset, length, base):
                pieces = joined.setdefault(node, [])
                if pieces and pieces[-1][0] + pieces[-1][1] == local:
                    pieces[-1][1] += size
                else:
                    pieces.append([local, size])
        return [(node, local, size) for node, pieces in joined.items() for local, size in pieces]

    def synchronisation_s(self, processes: int) -> float:
        """What it costs to bring processes together."""
        # c * log2(N) / 2
        return self.sync_s * math.log2(processes) / 2 if processes > 1 else 0.0
