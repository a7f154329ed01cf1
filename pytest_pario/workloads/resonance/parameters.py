"""Options of mpi-io-test and noncontig, and what of them shapes the rows of the suite (RES-32, RES-35). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from pytest_pario.errors import ParameterError
from pytest_pario.workloads.kinds import Flag, Size, Whole
from pytest_pario.workloads.parameters import Parameter, Parameters

BLOCK, ITERATIONS, SYNC_EACH = "mpi_io_test_block", "mpi_io_test_iterations", "mpi_io_test_sync"
ELMTCOUNT, VECLEN, VECCOUNT, FSIZE = "noncontig_elmtcount", "noncontig_veclen", "noncontig_veccount", "noncontig_fsize"
DISPL, OFFSET, SYNC_AFTER = "noncontig_displ", "noncontig_offset", "noncontig_sync"

OF_MPI_IO_TEST = (BLOCK, ITERATIONS, SYNC_EACH)
OF_NONCONTIG = (ELMTCOUNT, VECLEN, VECCOUNT, FSIZE, DISPL, OFFSET, SYNC_AFTER)

PARAMETERS = (
    Parameter(BLOCK, Size(1), None, "bytes of a block of mpi-io-test (default: several, by profile)"),
    Parameter(ITERATIONS, Whole(1), None, "blocks of each process (default: as many as the profile's bytes make)"),
    Parameter(SYNC_EACH, Flag(), False, "non-zero: sync after each write of mpi-io-test, inside the time"),
    Parameter(ELMTCOUNT, Whole(1), None, "ints of an element of noncontig (default: several, by profile)"),
    Parameter(
        VECLEN, Whole(1), None, "elements of a vector over all processes, a multiple of their number (default: one)"
    ),
    Parameter(VECCOUNT, Whole(1), None, "vectors that noncontig moves; not together with noncontig_fsize"),
    Parameter(FSIZE, Size(1), None, "bytes of the file of noncontig (default by profile); not with noncontig_veccount"),
    Parameter(DISPL, Size(0), 0, "bytes before the view of noncontig"),
    Parameter(OFFSET, Whole(0), 0, "ints under the view that noncontig leaves out, whole elements"),
    Parameter(SYNC_AFTER, Flag(), False, "non-zero: sync after the writes of noncontig, inside the time"),
)


@dataclass(frozen=True)
class Choices:
    """What the user asks of the rows; None takes what the profile has."""

    block: int | None = None
    iterations: int | None = None
    sync_each: bool = False
    elements: int | None = None
    vector_length: int | None = None
    """Elements over all processes; None is one of each."""
    vectors: int | None = None
    file_bytes: int | None = None
    displacement: int = 0
    offset: int = 0
    sync_after: bool = False


def choose(given: Parameters) -> Choices:
    """The choices that parameters make; of two sizes that follow from each other one may be given (ERR-01)."""
    if given[FSIZE] is not None and given[VECCOUNT] is not None:
        allowed = f"left out where {VECCOUNT} is given: one follows from the other"
        raise ParameterError(FSIZE, given[FSIZE], allowed, given.setting(FSIZE).origin)
    block, iterations, elements, length, vectors, file_bytes = (
        cast("int | None", given[name]) for name in (BLOCK, ITERATIONS, ELMTCOUNT, VECLEN, VECCOUNT, FSIZE)
    )
    return Choices(
        block,
        iterations,
        bool(given[SYNC_EACH]),
        elements,
        length,
        vectors,
        file_bytes,
        given.whole(DISPL),
        given.whole(OFFSET),
        bool(given[SYNC_AFTER]),
    )
