"""Whether a program fits: memory for what it reads back, and space for its file, looked at before any I/O (GEN-16)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.access.target import SPARE
from pytest_pario.environment.context import Context
from pytest_pario.environment.machine import memory_available
from pytest_pario.environment.mount import type_of
from pytest_pario.model import Access, Pattern
from pytest_pario.patterns.check import file_size
from pytest_pario.patterns.planning import plan
from pytest_pario.units import format_bytes
from pytest_pario.workloads.runner import RunRules, buffer_bytes

if TYPE_CHECKING:
    from mpi4py import MPI


def lack_of_room(
    comm: MPI.Intracomm, directory: Path, programs: Sequence[tuple[Pattern, int]], phase: Access, memory_limit: int
) -> str:
    """What programs lack that run at once, each on so many ranks, with both figures; empty where they fit."""
    names = " and ".join(pattern.name for pattern, _ in programs)
    plans = [plan(pattern, ranks) for pattern, ranks in programs]
    each = max(buffer_bytes(RunRules(), work, 0, phase) for work in plans)
    if each > memory_limit:
        allowed = format_bytes(memory_limit)
        return f"{names} needs {format_bytes(each)} of memory on each rank, {allowed} are allowed (--pario-memory)"
    files = int(sum(file_size(work.ranks) for work in plans) * SPARE)
    node = comm.Split_type(mpi.load().COMM_TYPE_SHARED)
    on_node = comm.allreduce(node.size, op=mpi.load().MAX)
    node.Free()
    return mpi.on_root(comm, lambda: _lacking(directory, names, each * on_node, files))


def _lacking(directory: Path, names: str, memory: int, files: int) -> str:
    context, facts = Context(directory), os.statvfs(directory)
    free = facts.f_bavail * facts.f_frsize
    if files > free:
        cure = "use a smaller profile or another --pario-dir"
        return f"{names} needs {format_bytes(files)} in {directory}, {format_bytes(free)} are free: {cure}"
    # a file in memory lies beside the buffers
    needed, available = memory + (files if type_of(context) == "tmpfs" else 0), memory_available(context)
    if available is not None and needed > available:
        told = f"{names} needs {format_bytes(needed)} of memory on a node, {format_bytes(available)} are free there"
        return f"{told}: use a smaller profile or more nodes"
    return ""
