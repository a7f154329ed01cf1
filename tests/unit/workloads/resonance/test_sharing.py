"""A program that shares the storage: when it syncs, when its caches are emptied, what is compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.errors import CacheStateError, VerificationError
from pytest_pario.measure.cache import CacheState
from pytest_pario.units import KiB
from pytest_pario.workloads.resonance.programs import mpi_io_test
from pytest_pario.workloads.resonance.sharing import SharingProgram

pytestmark = pytest.mark.skipif(bool(mpi.unavailable_reason()), reason=str(mpi.unavailable_reason()))

CALLS = 3


class Emptying:
    """Caches that are emptied, or cannot be."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.failure: Exception | None = None

    def __call__(self, _comm: Any, path: Path) -> CacheState:
        self.paths.append(path)
        if self.failure is not None:
            raise self.failure
        return CacheState("cold", 0.0, ())


class Watched:
    """A communicator or a file some of whose calls are written down."""

    def __init__(self, one: Any, calls: list[str], *names: str) -> None:
        self._one, self._calls, self._names = one, calls, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            self._calls.append(name)
        return getattr(self._one, name)


@pytest.fixture(params=["native", "two_phase"])
def sharing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SharingProgram, Emptying]]:
    emptying = Emptying()
    pattern = mpi_io_test(4 * KiB, CALLS)
    program = SharingProgram(mpi.load().COMM_SELF, tmp_path, pattern, request.param, 0.0, emptying)
    yield program, emptying
    program.close()
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_is_synced_before_others_read_it(sharing: tuple[SharingProgram, Emptying]) -> None:  # RES-38
    program, _ = sharing
    calls: list[str] = []
    program._file = Watched(program._file, calls, "Sync")  # type: ignore[assignment]
    program._comm = Watched(program._comm, calls, "Barrier")  # type: ignore[assignment]
    program.write()
    assert calls[-3:] == ["Sync", "Barrier", "Sync"]
    assert program.errors == []


def test_caches_are_emptied_before_each_pass(sharing: tuple[SharingProgram, Emptying]) -> None:  # RES-29
    program, emptying = sharing
    program.write()
    once = program.prepare(program.make_room())
    assert len(emptying.paths) == 1
    assert program.read(once) > 0
    program.compare(once)
    assert (once.made, len(emptying.paths)) == (CALLS, 1)
    # over and over: what was read in the first pass is not read from memory in the second
    again, asked = program.prepare(program.make_room()), iter([False] * (2 * CALLS) + [True])
    assert program.read(again, lambda passed_s: passed_s >= 0 and next(asked)) > 0
    program.compare(again)
    assert (again.made, len(emptying.paths)) == (2 * CALLS + 1, 2 + 2)
    assert {path.name for path in emptying.paths} == {"interference-mpi-io-test-4KiB"}
    assert len(program.caches) == 4
    assert program.errors == []


def test_what_was_not_reached_is_compared_too(sharing: tuple[SharingProgram, Emptying], tmp_path: Path) -> None:
    program, _ = sharing
    program.write()
    with (tmp_path / "interference-mpi-io-test-4KiB").open("r+b") as file:
        file.seek(2 * 4 * KiB)
        file.write(b"\0")
    reading = program.prepare(program.make_room())
    program.read(reading, lambda _: True)
    assert (reading.made, program.errors) == (1, [])
    program.compare(reading)
    assert [type(error) for error in program.errors] == [VerificationError]


def test_a_cache_that_is_not_cold_is_told_in_the_end(sharing: tuple[SharingProgram, Emptying]) -> None:  # ERR-10
    program, emptying = sharing
    program.write()
    emptying.failure = CacheStateError("caches are cached")
    reading = program.prepare(program.make_room())
    assert program.read(reading) > 0  # the other program waits for this one
    program.compare(reading)
    assert program.errors == [emptying.failure]
