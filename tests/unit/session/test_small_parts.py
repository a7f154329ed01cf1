"""Collection, ranks in words, stacks, launch detection, launcher commands, options."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_pario.cli import main
from pytest_pario.errors import ParameterError
from pytest_pario.options import TABLE, Options
from pytest_pario.session.collection import describe_differences, digest, errors_within, first_difference
from pytest_pario.session.launch import INHERITED, Launch, detect_launch, launch_key
from pytest_pario.session.launcher import complete
from pytest_pario.session.ranks import name_ranks
from pytest_pario.session.stacks import Place, describe, format_stacks, locate, main_thread_stack


def test_equal_collections_have_no_difference() -> None:
    assert first_difference(["a", "b"], ["a", "b"]) is None
    assert describe_differences({0: None, 1: None}) is None
    assert digest(["a", "b"]) != digest(["a\nb", ""])


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (["a", "c"], "has c as test 2 where root has b"),
        (["a"], "collected 1 tests where root has 2: b is missing"),
        (["a", "b", "c"], "collected 3 tests where root has 2: c is not on root"),
    ],
)
def test_the_first_difference_is_a_sentence(other: list[str], sentence: str) -> None:
    assert first_difference(["a", "b"], other) == sentence


def test_errors_of_many_modules_fit_into_their_share_of_a_message() -> None:
    errors = [(f"test_{number}.py", "E" * 40_000, "E   boom") for number in range(50)]
    cut = errors_within(errors, 100_000)
    assert len(json.dumps(cut)) <= 100_000
    assert [one[0] for one in cut] == [one[0] for one in errors]
    assert errors_within(errors, 10_000_000) == errors
    assert errors_within(errors, 10) == []


def test_equal_differences_are_told_once() -> None:
    missing = first_difference(["a"], [])
    told = describe_differences({0: None, 1: missing, 2: missing, 3: None})
    assert told == "the ranks collected different tests: ranks 1,2 collected 0 tests where root has 1: a is missing"


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([2], "rank 2"),
        ([0, 1], "ranks 0,1"),
        ([3, 1, 0], "ranks 0,1,3"),
        (range(16), "ranks 0-15"),
        ([0, 2, 3, 4], "ranks 0,2-4"),
    ],
)
def test_ranks_in_words(ranks: list[int], words: str) -> None:
    assert name_ranks(ranks) == words


def test_a_place_is_the_innermost_line_of_the_users_code() -> None:
    stack: list[list[object]] = [
        ["/home/u/test_x.py", 5, "test_x", "comm.Barrier()"],
        [__import__("threading").__file__, 300, "wait", "waiter.acquire()"],
    ]
    assert locate(stack) == Place("Barrier", "/home/u/test_x.py", 5)
    assert locate([]) is None
    assert locate([["/home/u/test_x.py", 6, "test_x", "x = 1"]]) == Place("test body", "/home/u/test_x.py", 6)
    assert locate([["/home/u/lib.py", 6, "work", "x = 1"]]) == Place("work()", "/home/u/lib.py", 6)


def test_who_is_where() -> None:
    places = {0: Place("Barrier", "t.py", 5), 3: Place("Barrier", "t.py", 5), 2: Place("test body", "t.py", 8)}
    assert describe(places) == "ranks 0,3 in Barrier at t.py:5; rank 2 in test body at t.py:8"


def test_equal_stacks_are_shown_once() -> None:
    stack = [["/home/u/t.py", 5, "test_x", "comm.Barrier()"]]
    assert format_stacks({0: stack, 1: stack}).startswith("ranks 0,1:\n")


def test_the_main_thread_finds_itself() -> None:
    assert main_thread_stack()[-1][2] == "main_thread_stack"


@pytest.mark.parametrize(
    ("environment", "launch"),
    [
        ({}, None),
        ({"PMI_RANK": "2", "PMI_SIZE": "4"}, Launch(2, 4, "PMI")),
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, Launch(0, 1, "Open MPI")),
        ({"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "8"}, Launch(1, 8, "Slurm")),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),
        ({"PMI_RANK": "x", "PMI_SIZE": "4"}, None),
    ],
)
def test_launchers_are_told_by_their_variables(environment: dict[str, str], launch: Launch | None) -> None:
    assert detect_launch(environment) == launch


def test_a_child_of_a_rank_is_no_rank_but_a_new_launch_is() -> None:
    rank = {"PMI_RANK": "2", "PMI_SIZE": "4"}
    child = {**rank, INHERITED: launch_key(rank)}
    assert detect_launch(child) is None
    assert detect_launch({**child, "PMI_RANK": "0", "PMI_SIZE": "2"}) == Launch(0, 2, "PMI")


@pytest.mark.parametrize(
    ("command", "version", "expected"),
    [
        (["mpiexec"], "HYDRA build details", ("mpiexec", "-n", "4")),
        (["mpiexec"], "mpiexec (Open MPI) 5.0.11", ("mpiexec", "--oversubscribe", "-n", "4")),
        (["srun", "--mpi=pmi2"], "slurm 22.05", ("srun", "--mpi=pmi2", "-n", "4")),
        (["flux"], "flux-core", ("flux", "run", "-n", "4")),
    ],
)
def test_launcher_commands(command: list[str], version: str, expected: tuple[str, ...]) -> None:
    assert complete(command, 4, version, is_root=False).command == expected


def test_open_mpi_is_allowed_to_run_as_root() -> None:
    assert "OMPI_ALLOW_RUN_AS_ROOT" in complete(["mpiexec"], 2, "mpiexec (Open MPI) 5", is_root=True).environment
    assert complete(["mpiexec"], 2, "HYDRA", is_root=True).environment == {}


def test_options_have_defaults_that_agree_with_the_table() -> None:
    assert Options.from_values({spec.dest: spec.default for spec in TABLE}) == Options()


@pytest.mark.parametrize(
    ("flag", "text"), [("--pario-timeout", "-1"), ("--pario-grace", "soon"), ("--pario-rounds", "0")]
)
def test_bad_values_name_option_value_range_and_origin(flag: str, text: str) -> None:
    spec = next(spec for spec in TABLE if spec.flag == flag)
    with pytest.raises(ParameterError, match=f"{flag} = '{text}' \\(from command line\\): must be "):
        spec.parse(text)


def test_a_resumed_run_has_one_journal() -> None:
    values = {spec.dest: spec.default for spec in TABLE}
    values |= {"pario_journal": Path("a"), "pario_resume": Path("b")}
    with pytest.raises(ParameterError, match="--pario-journal"):
        Options.from_values(values)


def test_a_job_of_a_bench_that_hangs_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hang(*_all: object) -> int:
        raise subprocess.TimeoutExpired(["mpiexec", "-n", "4"], 30.0)

    monkeypatch.setattr("pytest_pario.bench.patterns.run_patterns_bench", hang)
    assert main(["bench", "patterns"]) == 1
    assert capsys.readouterr().err == "pario: did not end within 30 s and was killed: mpiexec -n 4\n"
