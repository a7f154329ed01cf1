"""What the benchmark has to know of the machine, where nobody tells it (BEFF-07, BEFF-65)."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence

from pytest_pario.environment.context import Context
from pytest_pario.environment.machine import memory_limit
from pytest_pario.workloads.beffio.settings import Machine

STEPS = 8
"""Memory from which MPART follows is rounded down to so many steps in each doubling."""


def detect_machine(hostnames: Sequence[str]) -> Machine:
    """Memory of root's node, shared out among its ranks; all nodes are taken to be alike.

    MPART follows from that of one process: a few MiB more or less, as another kernel reserves them, must not make
    another benchmark. The total is as it was found.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    node_bytes = min(total, memory_limit(Context(os.curdir)) or total)
    per_node = Counter(hostnames)
    most = max(per_node.values())
    return Machine(len(hostnames), most, round_memory(node_bytes) // most, node_bytes * len(per_node))


def round_memory(found_bytes: int) -> int:
    """The largest of 8, 9 … 15 times a power of two that is not more: 251.6 GiB are 240 GiB."""
    step = 1 << max(0, found_bytes.bit_length() - STEPS.bit_length())
    return found_bytes // step * step


def describe_system() -> dict[str, object]:
    """Operating system and machine for the header of a report (BEFF-61)."""
    told = platform.uname()
    return {"host": told.node, "operating system": f"{told.system} {told.release}", "machine": told.machine}
