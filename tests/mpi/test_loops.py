"""Both kinds of loops on real MPI files: the same bytes, the same records, nobody left waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_pario.access.loops.compiling import numba_missing_reason
from tests.mpi.launching import is_openmpi, missing_reason, run_ranks

THREE = pytest.param(3, marks=pytest.mark.openmpi)
"""The number of ranks that is also run with Open MPI."""

CASES = Path(__file__).parent / "cases" / "loops"
LIMIT_S = 120.0
"""A rank needs a second of CPU time to import numba, and there may be fewer cores than ranks."""

pytestmark = pytest.mark.skipif(missing_reason() is not None, reason=missing_reason() or "")

LARGE = (1 << 31) + 4097


@pytest.fixture
def needs_numba() -> None:
    reason = numba_missing_reason()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(params=["python", "compiled"])
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "compiled":
        request.getfixturevalue("needs_numba")
    return str(request.param)


def run_case(case: str, n: int, directory: Path, *kinds: str, **env: str) -> list[dict[str, Any]]:
    """The record of each task; a job that hangs or ends badly is a failure."""
    result = run_ranks([str(CASES / f"{case}.py"), str(directory), *kinds], n, LIMIT_S, env)
    assert not result.timed_out, f"{case} hangs:\n{result.stdout}\n{result.stderr}"
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert [record["rank"] for record in result.records] == list(range(n))
    return result.records


@pytest.mark.parametrize("n", [1, 2, THREE])
def test_all_twelve_calls(kind: str, n: int, tmp_path: Path) -> None:
    run_case("twelve_calls", n, tmp_path, kind)


@pytest.mark.parametrize("n", [1, THREE])
def test_memory_with_gaps(kind: str, n: int, tmp_path: Path) -> None:
    assert all(record["refused"] == 3 for record in run_case("gapped", n, tmp_path, kind))


@pytest.mark.skipif(is_openmpi(), reason="Open MPI reports success of a collective write that failed")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_collective_loop_goes_on_after_a_failure(kind: str, n: int, tmp_path: Path) -> None:
    """Calls 10 to 19 fail on the last task; whether the others see it is up to the library."""
    records = run_case("collective_failure", n, tmp_path, kind)
    assert [record["reached"] for record in records] == [[20]] * n
    last = records[-1]
    assert (last["failures"], last["classes"], last["moved"]) == ([list(range(10, 20))], [["ERR_IO"]], [10_000])


@pytest.mark.parametrize("n", [1, 2, THREE])
def test_every_failing_call_is_recorded(kind: str, n: int, tmp_path: Path) -> None:
    for record in run_case("errors_of_each_call", n, tmp_path, kind):
        assert record["calls"] == [[0, 1, 2]] * 2
        assert record["classes"] == [["ERR_ACCESS"]] * 2


@pytest.mark.parametrize("n", [1, 2, THREE])
def test_refused_before_any_call(kind: str, n: int, tmp_path: Path) -> None:
    for record in run_case("refused", n, tmp_path, kind):
        assert record["names"] == [
            *("starts", "sizes", "sizes", "offsets", "offsets", "offsets", "sizes", "offsets", "etype_bytes", "file"),
            *("deadline_ns", "file"),
        ]


@pytest.mark.openmpi
@pytest.mark.parametrize("n", [1, 2])
def test_more_than_two_gibibytes(kind: str, n: int, tmp_path: Path) -> None:
    for record in run_case("large_count", n, tmp_path, kind):
        assert record["moved"] == [[LARGE, 100, LARGE - 1]]


@pytest.mark.openmpi
def test_all_tasks_take_the_same_loop(tmp_path: Path) -> None:
    for record in run_case("one_without", 3, tmp_path):
        assert record["loop"] == "python"
        assert "rank 2: no compiler today" in record["told"] or numba_missing_reason() is not None


@pytest.mark.openmpi
@pytest.mark.slow
@pytest.mark.usefixtures("needs_numba")
def test_sixteen_ranks_begin_without_machine_code(tmp_path: Path) -> None:
    """One compiles, the others wait and take what it has left."""
    records = run_case("cold_start", 16, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert {record["loop"] for record in records} == {"compiled"}
    assert sum(record["hits"] for record in records) == 15


@pytest.mark.openmpi
@pytest.mark.usefixtures("needs_numba")
def test_no_place_for_machine_code(tmp_path: Path) -> None:
    """Where nothing can be kept every rank compiles for itself."""
    (tmp_path / "file").write_bytes(b"")
    records = run_case("cold_start", 2, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert [(record["loop"], record["hits"]) for record in records] == [("compiled", 0)] * 2
