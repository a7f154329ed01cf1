"""Recipes of MPI datatypes as plain data, byte based; `access/` builds the real ones from them (MODEL-07)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

from pytest_pario.model import Int64


@dataclass(frozen=True)
class Contiguous:
    """`count` bytes in a row."""

    count: int


@dataclass(frozen=True)
class Resized:
    """Another recipe, repeated every `extent` bytes.

    A plain vector does not tile: its extent ends with its last block. Whatever is repeated is therefore resized.
    """

    of: Recipe
    extent: int


@dataclass(frozen=True)
class Vector:
    """`count` blocks of `block` bytes, one every `stride` bytes; its extent ends with the last block."""

    count: int
    block: int
    stride: int


@dataclass(frozen=True)
class Subarray:
    """A box of a row-major array of elements of `element` bytes."""

    sizes: tuple[int, ...]
    subsizes: tuple[int, ...]
    starts: tuple[int, ...]
    element: int


@dataclass(frozen=True)
class Darray:
    """The part of `rank` in a row-major array that is distributed by blocks over a process grid."""

    rank: int
    sizes: tuple[int, ...]
    grid: tuple[int, ...]
    element: int


@dataclass(frozen=True, eq=False)
class Hindexed:
    """Blocks of bytes at displacements, ascending; shape (blocks,) each."""

    displacements: Int64
    lengths: Int64


@dataclass(frozen=True)
class Struct:
    """Several recipes in this order, each at a displacement."""

    parts: tuple[tuple[int, Recipe], ...]


Recipe: TypeAlias = Contiguous | Resized | Vector | Subarray | Darray | Hindexed | Struct


@dataclass(frozen=True)
class View:
    """A file view: where it begins, what it shows, and how many calls of one repetition are made under it."""

    displacement: int
    filetype: Recipe
    calls: int
    etype: int = 1
    """Bytes of the elementary type."""


class Views(Sequence[View]):
    """Views, each made anew when it is asked for: a pattern may need one for every call, and making it may be timed."""

    def __init__(self, calls: Sequence[int], make: Callable[[int], View], etype: int = 1) -> None:
        """Say what is known without making any: calls under each, elementary type of all; `make` makes number i."""
        self.calls, self.etype = calls, etype
        self._numbers, self._make = range(len(calls)), make

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> View: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[View]: ...
    def __getitem__(self, index: int | slice) -> View | Sequence[View]:
        if isinstance(index, slice):
            return [self._make(number) for number in self._numbers[index]]
        return self._make(self._numbers[index])
