"""Real MPI datatypes from recipes (MODEL-07): the subject, built apart from the extent table that judges it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_pario import mpi
from pytest_pario.patterns import recipe as r

if TYPE_CHECKING:
    from mpi4py import MPI


@contextlib.contextmanager
def datatype(recipe: r.Recipe) -> Iterator[MPI.Datatype]:
    """A committed datatype of a recipe, freed at the end of the block."""
    made: list[MPI.Datatype] = []
    try:
        built = _build(recipe, made)
        built.Commit()
        yield built
    finally:
        for one in reversed(made):
            one.Free()


@contextlib.contextmanager
def elementary(size: int) -> Iterator[MPI.Datatype]:
    """The elementary type of a view: a byte, a double where a pattern counts in eights (BEFF-12), else `size` bytes."""
    plain = {1: mpi.load().BYTE, 8: mpi.load().DOUBLE}
    if size in plain:
        yield plain[size]
    else:
        with datatype(r.Contiguous(size)) as made:
            yield made


def _build(recipe: r.Recipe, made: list[MPI.Datatype]) -> MPI.Datatype:
    """Build inner types first; every derived one is noted, so that all can be freed."""
    built: MPI.Datatype = _BUILDERS[type(recipe)](recipe, made)
    made.append(built)
    return built


def _byte() -> MPI.Datatype:
    byte: MPI.Datatype = mpi.load().BYTE
    return byte


def _contiguous(recipe: r.Contiguous, _made: list[MPI.Datatype]) -> MPI.Datatype:
    return _byte().Create_contiguous(recipe.count)


def _resized(recipe: r.Resized, made: list[MPI.Datatype]) -> MPI.Datatype:
    return _build(recipe.of, made).Create_resized(0, recipe.extent)


def _vector(recipe: r.Vector, _made: list[MPI.Datatype]) -> MPI.Datatype:
    return _byte().Create_vector(recipe.count, recipe.block, recipe.stride)


def _subarray(recipe: r.Subarray, made: list[MPI.Datatype]) -> MPI.Datatype:
    element = _build(r.Contiguous(recipe.element), made)
    order = mpi.load().ORDER_C
    return element.Create_subarray(list(recipe.sizes), list(recipe.subsizes), list(recipe.starts), order)


def _darray(recipe: r.Darray, made: list[MPI.Datatype]) -> MPI.Datatype:
    codes = mpi.load()
    element = _build(r.Contiguous(recipe.element), made)
    axes, processes = len(recipe.sizes), 1
    for count in recipe.grid:
        processes *= count
    return element.Create_darray(
        processes,
        recipe.rank,
        list(recipe.sizes),
        [codes.DISTRIBUTE_BLOCK] * axes,
        [codes.DISTRIBUTE_DFLT_DARG] * axes,
        list(recipe.grid),
        codes.ORDER_C,
    )


def _hindexed(recipe: r.Hindexed, _made: list[MPI.Datatype]) -> MPI.Datatype:
    lengths = recipe.lengths
    # one length for all is the common case, and a library keeps one number instead of a million
    if lengths.size and (lengths == lengths[0]).all():
        return _byte().Create_hindexed_block(int(lengths[0]), recipe.displacements.tolist())
    return _byte().Create_hindexed(lengths.tolist(), recipe.displacements.tolist())


def _struct(recipe: r.Struct, made: list[MPI.Datatype]) -> MPI.Datatype:
    parts = [_build(part, made) for _, part in recipe.parts]
    places = [place for place, _ in recipe.parts]
    return type(_byte()).Create_struct([1] * len(parts), places, parts)


_BUILDERS: dict[type, Any] = {
    r.Contiguous: _contiguous,
    r.Resized: _resized,
    r.Vector: _vector,
    r.Subarray: _subarray,
    r.Darray: _darray,
    r.Hindexed: _hindexed,
    r.Struct: _struct,
}
