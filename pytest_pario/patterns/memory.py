"""Data in memory with gaps: how MPI is told, how much room they take, and whether the gaps were left alone."""

from __future__ import annotations

import numpy as np

from pytest_pario.errors import ParameterError
from pytest_pario.model import Int64, Memory
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.patterns.recipe import Contiguous, Recipe, Vector


def memory_type(memory: Memory, size: int) -> Recipe:
    """How `size` bytes of data lie in memory."""
    if not memory.gap:
        return Contiguous(size)
    if size % memory.piece:
        raise ParameterError("mem.piece", memory.piece, f"a divisor of the call of {size} B")
    return Vector(size // memory.piece, memory.piece, memory.piece + memory.gap)


def spans(memory: Memory, sizes: Int64) -> Int64:
    """Bytes of memory that hold calls of these sizes, the last gap included; shape as given."""
    return sizes + sizes // memory.piece * memory.gap if memory.gap else sizes


def count_touched(memory: Memory, buffer: Bytes, size: int, poison: int) -> int:
    """How many bytes in the gaps of one call's memory are no longer `poison`."""
    if not memory.gap:
        return 0
    width = memory.piece + memory.gap
    rows = buffer[: size // memory.piece * width].reshape(-1, width)
    return int(np.count_nonzero(rows[:, memory.piece :] != poison))
