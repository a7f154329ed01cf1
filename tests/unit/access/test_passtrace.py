"""GPFS-55..57: what is done under the clock is in the trace, call by call, after the clock has stopped."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_pario import mpi
from pytest_pario.access.chained import ChainedFile
from pytest_pario.access.executor import Manner, run_pass, run_timed_pass
from pytest_pario.access.posix import run_posix_pass
from pytest_pario.access.target import Target
from pytest_pario.model import Access, Pattern, SyncRule
from pytest_pario.patterns import Segmented, Strided, plan
from pytest_pario.patterns.payload import Payload, ring_payload
from pytest_pario.patterns.stamp import Content

pytestmark = pytest.mark.skipif(bool(mpi.unavailable_reason()), reason=str(mpi.unavailable_reason()))

PYTHON = Manner(loop="python")
CONTENT = Content(3)


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ask for a trace; the result reads its lines."""
    directory = tmp_path / "traces"
    directory.mkdir()
    monkeypatch.setenv("PARIO_TRACE_DIR", str(directory))

    def ask(mode: str, least: int = 0) -> None:
        monkeypatch.setenv("PARIO_TRACE", mode)
        monkeypatch.setenv("PARIO_TRACE_MIN_OFFSET", str(least))

    ask.read = lambda: [  # type: ignore[attr-defined]
        json.loads(line) for path in sorted(directory.iterdir()) for line in path.read_text().splitlines()
    ]
    return ask


def target_of(tmp_path: Path, pattern: Pattern) -> Target:
    return Target(mpi.load().COMM_SELF, pattern, tmp_path / "file", {})


def write(target: Target, phase: Access = "write") -> None:
    work = plan(target.pattern, 1)
    payload = ring_payload(CONTENT, 0, work.ranks[0])
    run = run_posix_pass if target.pattern.api == "posix" else run_pass
    run(target, work, phase, payload, PYTHON)


@pytest.mark.parametrize(("api", "call"), [("mpiio", "write_at"), ("posix", "pwrite")])
@pytest.mark.parametrize("sync", ["end", "per_call"])
def test_calls_in_the_order_in_which_they_were_made(
    api: Any, call: str, sync: SyncRule, tmp_path: Path, trace: Any
) -> None:
    trace("all", 1000)
    write(target_of(tmp_path, Pattern("p", Segmented(3000, (1000,) * 3), pointer="explicit", api=api, sync=sync)))
    lines = trace.read()
    calls = [line for line in lines if line["op"] == call]
    assert [(one["offset"], one["length"], one["result"]) for one in calls] == [(n * 1000, 1000, 1000) for n in (1, 2)]
    between = ["sync", call, "sync", call, "sync"] if sync == "per_call" else [call, call, "sync"]
    # the first call is below the offset; the layout has no view, whose hints would be set in its place
    assert [line["op"] for line in lines if line["op"] != "set_info"] == ["open", *between, "close"]


@pytest.mark.parametrize(
    ("pattern", "offsets"),
    [
        # offsets of the file, not of the view
        (Pattern("v", Strided(500, pad=500, ncalls=3), coll=True), [0, 1000, 2000]),
        (Pattern("e", Strided(500, per_call=2, pad=500, ncalls=2), pointer="explicit"), [0, 2000]),
        # where the pointer of all is, only the library knows
        (Pattern("s", Strided(500, ncalls=3), pointer="shared"), [None] * 3),
    ],
    ids=lambda value: value.name if isinstance(value, Pattern) else "",
)
def test_offsets_are_those_of_the_file(pattern: Pattern, offsets: list[int | None], tmp_path: Path, trace: Any) -> None:
    trace("all")
    write(target_of(tmp_path, pattern))
    lines = trace.read()
    assert [line["offset"] for line in lines if line["op"].startswith("write")] == offsets
    assert "set_view" in [line["op"] for line in lines]


@pytest.mark.parametrize("api", ["mpiio", "posix"])
def test_errors_are_there_with_their_call(api: Any, tmp_path: Path, trace: Any) -> None:
    trace("errors")
    target = target_of(tmp_path, Pattern("p", Segmented(3000, (1000,) * 3), pointer="explicit", api=api))
    write(target)
    assert trace.read() == []
    # the third call of a read finds the file at its end
    target.path.write_bytes(bytes(2300))
    work = plan(target.pattern, 1)
    room = Payload(np.zeros(3000, np.uint8), np.arange(3) * 1000, np.full(3, 1000))
    run = run_posix_pass if api == "posix" else run_pass
    assert run(target, work, "read", room, PYTHON).errors
    (short,) = trace.read()
    assert (short["error"], short["offset"], short["length"]) == ("ShortTransferError", 2000, 1000)
    target.path.unlink()
    assert run(target, work, "read", room, PYTHON).errors
    missing = trace.read()[-1]
    assert (missing["op"], missing["error"]) == ("open", "ERR_NO_SUCH_FILE")


def test_time_driven_and_chained_loops_tell_what_was_made_not_what_was_laid_out(tmp_path: Path, trace: Any) -> None:
    trace("all")
    target = target_of(tmp_path, Pattern("p", Strided(1000)))
    done = run_timed_pass(target, 0.0, lambda part: ring_payload(CONTENT, 0, part.ranks[0]), PYTHON)
    assert done.repeated is not None
    assert Counter(line["op"] for line in trace.read())["write"] == done.repeated.repetitions
    chain = ChainedFile(target, "write", loop="python", delete=True)
    chain.open()
    made = chain.write_timed(target, lambda table: ring_payload(CONTENT, 0, table), 0.0, "per_call", most=5)
    chain.run(target, 4, ring=lambda table: ring_payload(CONTENT, 0, table), base=1000 * made.repetitions)
    chain.close()
    ops = Counter(line["op"] for line in trace.read())
    assert ops["write"] == done.repeated.repetitions + made.repetitions + 4
    assert (ops["open"], ops["close"], ops["sync"], ops["set_view"]) == (2, 2, 3, 3)
