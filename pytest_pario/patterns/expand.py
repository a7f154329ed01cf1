"""What a recipe means: size, extent and pieces after the rules of the MPI standard, to hold against extent tables."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from pytest_pario.model import Extents, Int64
from pytest_pario.patterns.recipe import Contiguous, Darray, Hindexed, Recipe, Resized, Struct, Subarray, Vector, View

Pieces: TypeAlias = tuple[Int64, Int64]
"""Displacements and lengths, in the order of the data."""


def size(recipe: Recipe) -> int:
    """Bytes of data in one instance."""
    return int(expand(recipe)[1].sum())


def extent(recipe: Recipe) -> int:
    """Bytes from one instance to the next."""
    match recipe:
        case Resized(_, width):
            return width
        case Subarray(sizes, element=element) | Darray(sizes=sizes, element=element):
            return prod(sizes) * element
        case Struct(parts):
            return max(at + extent(part) for at, part in parts) - min(at for at, _ in parts)
        case _:
            at, lengths = expand(recipe)
            return int((at + lengths).max() - at.min()) if len(at) else 0


def expand(recipe: Recipe) -> Pieces:  # noqa: PLR0911 - one for each kind
    """The pieces of one instance, shape (pieces,) each."""
    match recipe:
        case Contiguous(count):
            return _pieces([0], [count])
        case Resized(of):
            return expand(of)
        case Vector(count, block, stride):
            return _pieces(range(0, count * stride, stride), [block] * count)
        case Subarray():
            return _expand_subarray(recipe)
        case Darray():
            box = darray_box(recipe)
            return _expand_subarray(box) if box else _pieces([], [])
        case Hindexed(displacements, lengths):
            return displacements, lengths
        case Struct(parts):
            moved = [(at + expand(part)[0], expand(part)[1]) for at, part in parts]
            return np.concatenate([at for at, _ in moved]), np.concatenate([lengths for _, lengths in moved])


def _expand_subarray(box: Subarray) -> Pieces:
    # the first element of each row of the box, counted in elements of the whole array
    ranges = [range(first, first + width) for first, width in zip(box.starts, box.subsizes, strict=True)]
    grid = np.ix_(*ranges[:-1], [box.starts[-1]])
    first = np.ravel_multi_index(tuple(np.broadcast_arrays(*grid)), box.sizes).ravel()
    return _pieces(first * box.element, np.full(first.size, box.subsizes[-1] * box.element))


def darray_box(recipe: Darray) -> Subarray | None:
    """The part of a rank in a distributed array as a subarray; None where it is empty."""
    # block = ceil(g / p); the process at coordinate c has [c * block, min((c + 1) * block, g))
    coordinates = np.unravel_index(recipe.rank, recipe.grid)
    blocks = [-(-g // p) for g, p in zip(recipe.sizes, recipe.grid, strict=True)]
    starts = tuple(int(c) * b for c, b in zip(coordinates, blocks, strict=True))
    subsizes = tuple(min(b, g - first) for b, g, first in zip(blocks, recipe.sizes, starts, strict=True))
    return Subarray(recipe.sizes, subsizes, starts, recipe.element) if min(subsizes) > 0 else None


def _pieces(displacements: object, lengths: object) -> Pieces:
    return np.asarray(displacements, dtype=np.int64), np.asarray(lengths, dtype=np.int64)


def expand_views(views: Sequence[View], call_bytes: Int64) -> Extents:
    """The extents that calls of these sizes touch under these views, as an MPI library places them."""
    cuts, done = [], 0
    for view in views:
        sizes = call_bytes[done : done + view.calls]
        cuts.append(_cut(*_stream(view, int(sizes.sum())), sizes))
        done += view.calls
    offsets, lengths, counts = zip(*cuts, strict=True) if cuts else ([_NONE], [_NONE], [_NONE])
    bounds = np.concatenate(([0], np.cumsum(np.concatenate(counts))))
    return Extents(np.concatenate(offsets), np.concatenate(lengths), bounds)


_NONE = np.empty(0, np.int64)


def _stream(view: View, needed: int) -> Pieces:
    """The pieces of as many instances of the filetype as hold `needed` bytes, shape (pieces,) each."""
    if not needed or isinstance(view.filetype, Contiguous):
        return _pieces([view.displacement], [needed])
    at, lengths = expand(view.filetype)
    instances = -(-needed // int(lengths.sum()))
    starts = view.displacement + np.arange(instances, dtype=np.int64) * extent(view.filetype)
    return (starts[:, None] + at).ravel(), np.tile(lengths, instances)


def _cut(offsets: Int64, lengths: Int64, sizes: Int64) -> tuple[Int64, Int64, Int64]:
    """Cut a stream of pieces into calls of `sizes` bytes; returns offsets, lengths and the pieces of each call."""
    begins = np.concatenate(([0], np.cumsum(lengths)))
    calls = np.concatenate(([0], np.cumsum(sizes)))
    cuts = np.unique(np.concatenate((begins[begins < calls[-1]], calls)))
    starts = cuts[:-1]
    piece = np.searchsorted(begins, starts, side="right") - 1
    return offsets[piece] + starts - begins[piece], np.diff(cuts), np.diff(np.searchsorted(starts, calls))
