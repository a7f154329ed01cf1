"""Layouts of every kind for hypothesis, each with what it promises."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from pytest_pario.model import Pattern
from pytest_pario.patterns import (
    Block3D,
    Cells,
    Files,
    Layout,
    Multipartition,
    RandomSizes,
    Same,
    Scattered,
    Segmented,
    SparseStrided,
    Strided,
    Tiles,
)


@dataclass(frozen=True)
class Case:
    layout: Layout
    n: int
    total: int
    """Bytes of all ranks in one repetition, counted without the layout's help."""
    disjoint: bool = True
    tiling: bool = False
    repeats: bool = True
    """Whether repetitions keep the promises."""

    def pattern(self, **more: object) -> Pattern:
        files = "each" if isinstance(self.layout, Files) else "shared"
        return Pattern("case", self.layout, files=files, **more)  # type: ignore[arg-type]


ranks = st.integers(1, 6)
small = st.integers(0, 9)


@st.composite
def strided(draw: st.DrawFn) -> Case:
    n, pad, gap, start = draw(ranks), draw(small), draw(small), draw(small)
    ncalls = draw(st.integers(1, 4))
    if draw(st.booleans()):
        transfer, pieces = draw(st.integers(1, 9)), draw(st.integers(1, 4))
        layout = Strided(transfer * pieces, 1, ncalls, pad, start, gap, transfer)
    else:
        layout = Strided(draw(st.integers(1, 40)), draw(st.integers(1, 4)), ncalls, pad, start, gap)
    total = n * layout.block * layout.per_call * ncalls
    return Case(layout, n, total, tiling=pad == gap == start == 0)


@st.composite
def segmented(draw: st.DrawFn) -> Case:
    n, start, extra = draw(ranks), draw(small), draw(small)
    chunks = tuple(draw(st.lists(st.integers(0, 30), min_size=1, max_size=5)))
    count = draw(st.integers(1, 3))
    total = sum(chunks) * count
    layout = Segmented(start + 3 * total + extra + 1, chunks, start, count)
    return Case(layout, n, n * total)


@st.composite
def segmented_full(draw: st.DrawFn) -> Case:
    n, chunks = draw(ranks), tuple(draw(st.lists(st.integers(1, 30), min_size=1, max_size=5)))
    return Case(Segmented(sum(chunks), chunks), n, n * sum(chunks), tiling=True, repeats=False)


@st.composite
def tiles(draw: st.DrawFn) -> Case:
    nx, ny = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    sx, sy, elem = draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    ox, oy, header = draw(st.integers(0, sx - 1)), draw(st.integers(0, sy - 1)), draw(small)
    layout = Tiles(nx, ny, sx, sy, elem, ox, oy, header)
    alone = (ox == 0 or nx == 1) and (oy == 0 or ny == 1)
    n = nx * ny + draw(st.integers(0, 2))
    return Case(layout, n, nx * ny * sx * sy * elem, disjoint=alone, tiling=alone and header == 0)


@st.composite
def block3d(draw: st.DrawFn) -> Case:
    g = (draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    elem = draw(st.integers(1, 4))
    return Case(Block3D(g, elem), draw(st.integers(1, 13)), g[0] * g[1] * g[2] * elem, tiling=True)


@st.composite
def scattered(draw: st.DrawFn) -> Case:
    n, each, unused = draw(ranks), draw(st.integers(1, 12)), draw(st.integers(0, 12))
    slots, size, seed = draw(st.integers(1, 5)), draw(st.integers(1, 9)), draw(st.integers(0, 99))
    total, block = n * each + unused, slots * size
    sub = (draw(st.integers(1, slots)), size) if draw(st.booleans()) else None
    region, per_call = draw(st.sampled_from([(0, 0), (block * 3, 0), (0, 2), (0, 1)]))
    layout = Scattered(block, total, seed, sub, region, per_call, n * each / total)
    moved = n * each * (sub[0] * size if sub else block)
    return Case(layout, n, moved, tiling=unused == 0 and sub is None)


@st.composite
def random_sizes(draw: st.DrawFn) -> Case:
    n, lo, seed, start, pad = draw(ranks), draw(small), draw(st.integers(0, 99)), draw(small), draw(small)
    hi = max(1, lo + draw(small))
    layout = RandomSizes(lo, hi, draw(st.integers(1, 4)), draw(st.integers(1, 4)), seed, start, pad)
    return Case(layout, n, int(layout.sizes(n).sum()), tiling=pad == start == 0)


@st.composite
def sparse_strided(draw: st.DrawFn) -> Case:
    n, record, count = draw(ranks), draw(st.integers(1, 20)), draw(st.integers(1, 5))
    stride = n * record + draw(small)
    return Case(SparseStrided(record, stride, count), n, n * record * count, tiling=stride == n * record)


@st.composite
def same(draw: st.DrawFn) -> Case:
    n, size, ncalls = draw(ranks), draw(st.integers(1, 20)), draw(st.integers(1, 4))
    return Case(Same(size, ncalls), n, n * size * ncalls, disjoint=n == 1, tiling=n == 1)


@st.composite
def files(draw: st.DrawFn) -> Case:
    layout = Files(draw(st.integers(1, 3)), draw(st.integers(0, 40)), draw(st.integers(0, 9)))
    return Case(layout, 1, layout.size, tiling=True)


@st.composite
def cells(draw: st.DrawFn) -> Case:
    p, elem = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    a, b, c = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    # rank i has one box in each slab, in a diagonal, as in a multi-partition
    boxes = tuple(tuple(((k * a, (i + k) % p * b, 0, 0), (a, b, c, 2)) for k in range(p)) for i in range(p))
    sizes = (p * a, p * b, c, 2)
    return Case(Cells(sizes, boxes, elem), p, p * a * p * b * c * 2 * elem, tiling=True)


@st.composite
def multipartition(draw: st.DrawFn) -> Case:
    edge, elem = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    size = draw(st.integers(3 * edge, 3 * edge + 4))
    return Case(Multipartition(size, elem), edge**2, size**3 * elem, tiling=True)


ALL = {
    "strided": strided(),
    "segmented": segmented(),
    "segmented_full": segmented_full(),
    "tiles": tiles(),
    "block3d": block3d(),
    "scattered": scattered(),
    "random_sizes": random_sizes(),
    "sparse_strided": sparse_strided(),
    "same": same(),
    "files": files(),
    "cells": cells(),
    "multipartition": multipartition(),
}
cases = st.one_of(*ALL.values())
