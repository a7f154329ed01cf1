"""What the runner of a single row carries out, records, and refuses."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.access import deeds
from pytest_pario.access.executor import Manner
from pytest_pario.access.verification import verify_written
from pytest_pario.environment.load import HostsLoad
from pytest_pario.errors import FileAccessError, HintValueError, ParameterError, VerificationError
from pytest_pario.measure.cache import flush_caches
from pytest_pario.model import Access, Derived, Hints, Open, Pattern, Record, Replay, SyncRule
from pytest_pario.patterns import Segmented, Strided, plan
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.stamp import PERIOD
from pytest_pario.workloads import runner as module
from pytest_pario.workloads.runner import Runner, RunRules, buffer_bytes

pytestmark = pytest.mark.skipif(bool(mpi.unavailable_reason()), reason=str(mpi.unavailable_reason()))

LAYOUT = Segmented(64 * 4096, (4096,) * 64)
SPARSE = Strided(1000, ncalls=4, pad=500)


def run(directory: Path, pattern: Pattern, phase: Access, **rules: Any) -> Record:
    given = RunRules(rounds=2, warmup_rounds=1, **rules)
    return Runner(mpi.load().COMM_SELF, directory, "ext4", given).run(pattern, phase)


@pytest.mark.parametrize(
    ("change", "rules", "error", "text"),
    [
        ({}, {"direct": 512}, ParameterError, r"x: direct = 512 \(from rules\).*api=posix"),  # CONS-07
        ({"api": "posix", "pointer": "explicit"}, {"direct": 500}, ParameterError, r"x: direct = 500.*power of two"),
        ({"repeat": Derived(("nobody",))}, {}, ParameterError, r"x: repeat = 'derived'.*fixed or timed"),
        ({"repeat": Replay()}, {}, ParameterError, r"x: repeat = 'replay'"),
        ({"after": "other"}, {}, ParameterError, r"x: after = 'other'"),
        ({"hints": Hints({}, {"cb_buffer_size": "0"})}, {}, HintValueError, "cb_buffer_size = '0'"),  # GEN-13
        ({}, {"memory_limit": 1000}, ParameterError, "at most the memory limit 1000 B"),
        (
            {"files": "each"},
            {"manner": Manner(call_barriers=True)},
            ParameterError,
            "x: call_barriers.*one file together",
        ),
    ],
)
def test_what_would_be_ignored_is_refused(
    change: dict[str, Any], rules: dict[str, Any], error: type[Exception], text: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=text):  # ERR-01
        run(tmp_path, Pattern(**{"name": "x", "layout": LAYOUT, **change}), "write", **rules)
    assert list(tmp_path.iterdir()) == []


def test_a_file_goes_with_the_last_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = Pattern("x", LAYOUT, access=("read",), open=Open(delete_on_close=True))
    record = run(tmp_path, pattern, "read", keep=True, cross=True)
    assert record.facts["deleted_on_close"] is True
    assert len(record.samples.io) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("pointer", ["individual", "explicit"])
@pytest.mark.parametrize(
    ("total", "per_call", "inside", "views", "told"),
    [
        (4, 0, True, 1, "inside the timed part"),  # one region is timed as two are
        (8, 0, True, 2, "inside the timed part"),
        (4, 0, False, 1, "before the clock"),
        (8, 0, False, 2, "before the clock"),
        (8, 2, True, 4, "inside the timed part"),
        (8, 2, False, 4, "before the clock"),
        (65, 1, False, 65, "inside the timed part"),  # more than are kept
    ],
)
def test_a_view_is_built_once_and_where_the_record_says(
    total: int,
    per_call: int,
    inside: bool,
    views: int,
    told: str,
    pointer: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # GPFS-13, GPFS-14, GPFS-24, CONS-07
    real_view, real_course = Scattered._view, deeds.carry_out
    timed: list[bool] = [False]
    built: list[bool] = []

    def view(self: Scattered, *given: Any) -> Any:
        built.append(timed[0])
        return real_view(self, *given)

    def carry_out(*given: Any) -> Any:
        timed[0] = True
        try:
            return real_course(*given)
        finally:
            timed[0] = False

    monkeypatch.setattr(Scattered, "_view", view)
    monkeypatch.setattr("pytest_pario.access.executor.carry_out", carry_out)
    sub = (2, 16) if per_call == 1 else None
    layout = Scattered(64, total, seed=3, region=0 if per_call else 256, per_call=per_call, sub=sub)
    pattern = Pattern("x", layout, pointer=pointer, open=Open(prefill=0xEE))
    rules = RunRules(rounds=1, warmup_rounds=0, manner=Manner(types_inside=inside))
    record = Runner(mpi.load().COMM_SELF, tmp_path, "ext4", rules).run(pattern, "write")
    assert (record.facts["views"], record.facts["filetypes"]) == (views, told)
    # the rehearsal builds the first view, too; nothing is built twice under the clock, nor a second time before it
    assert built == ([False] + [True] * views if told == "inside the timed part" else [False] * (1 + views))
    plain = run(tmp_path, Pattern("y", LAYOUT, pointer="explicit"), "write").facts
    assert (plain["views"], plain["filetypes"]) == (0, "none")


@pytest.mark.parametrize("way", ["library", "filesystem"])
@pytest.mark.parametrize("change", [{}, {"files": "each"}, {"api": "posix", "pointer": "explicit"}])
def test_space_is_allocated_apart_from_what_is_timed(
    way: Any, change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # GPFS-13, CONS-46
    opened = Open(prealloc=True, prealloc_by=way)
    facts: Any = run(tmp_path, Pattern("x", LAYOUT, open=opened, **change), "write").facts
    call = "MPI_File_preallocate" if way == "library" else "fallocate: "
    assert facts["allocation"].startswith(f"preallocated ({call}")
    assert facts["allocated_bytes"] >= 64 * 4096
    assert len(facts["allocation_s"]) == 4  # before the rehearsal, a warm-up and two rounds
    assert min(facts["allocation_s"]) > 0
    assert facts["resident_before_write"] is not None  # evicted, and looked at


def test_hints_of_a_view_are_sent_and_recorded(tmp_path: Path) -> None:  # GEN-12
    for pointer in ("individual", "explicit"):
        pattern = Pattern("x", LAYOUT, True, pointer=pointer, hints=Hints({}, {"cb_buffer_size": "65536"}))
        facts: Any = run(tmp_path, pattern, "read").facts
        assert facts["hints_requested_with_view"] == {"cb_buffer_size": "65536"}
        assert facts["hints"]["accepted"]["cb_buffer_size"] == "65536"


def test_holes_of_a_file_that_existed_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # GEN-05
    real = verify_written

    def harm(*given: Any) -> None:
        with (tmp_path / "x").open("r+b") as file:
            file.seek(1200)
            file.write(b"\x55")
        real(*given)

    monkeypatch.setattr(module, "verify_written", harm)
    with pytest.raises(VerificationError, match=r"offset 1200.*nobody writes here"):
        run(tmp_path, Pattern("x", SPARSE, open=Open(existing=True)), "write")
    run(tmp_path, Pattern("x", SPARSE), "write")  # undefined in a new one


def test_direct_calls_are_recorded(tmp_path: Path) -> None:  # CONS-07
    pattern = Pattern("x", LAYOUT, pointer="explicit", api="posix")
    facts = run(tmp_path, pattern, "write").facts
    assert (facts["direct"], facts["direct_alignment"], facts["buffer"]) == (False, None, "ring")
    try:
        facts = run(tmp_path, pattern, "write", direct=4096).facts
    except FileAccessError:
        pytest.skip("no O_DIRECT in the temporary directory")
    assert (facts["direct"], facts["direct_alignment"], facts["buffer"]) == (True, 4096, "whole")


def test_residency_is_told_of_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # CONS-48
    real, told = flush_caches, iter([0.0, 0.005, 0.002])

    def flush(*given: Any) -> Any:
        return dataclasses.replace(real(*given), state="cold", resident=next(told))

    monkeypatch.setattr(module, "flush_caches", flush)
    cache: Any = run(tmp_path, Pattern("x", LAYOUT), "read").facts["cache"]
    assert (cache["state"], cache["resident"]) == ("cold", 0.005)  # the worst round
    assert cache["resident_before_round"] == [0.0, 0.005, 0.002]


def test_others_on_the_host_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polluted = {"polluted": True, "other_cpu_share": 0.5}
    monkeypatch.setattr(HostsLoad, "stop", lambda _self: polluted)
    record = run(tmp_path, Pattern("x", LAYOUT), "write")
    assert record.facts["load"] == polluted
    assert "polluted" in record.flags


@pytest.mark.parametrize(("keep", "left"), [({}, []), ({"keep_on_error": True}, ["x"]), ({"keep": True}, ["x"])])
def test_what_is_left_of_a_run_that_failed(
    keep: dict[str, bool], left: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # GEN-16
    run(tmp_path, Pattern("x", LAYOUT), "write", **{name: value for name, value in keep.items() if name != "keep"})
    assert list(tmp_path.iterdir()) == []

    def find(*_: Any) -> None:
        raise VerificationError("x", "wrong")

    monkeypatch.setattr(module, "verify_written", find)
    with pytest.raises(VerificationError):
        run(tmp_path, Pattern("x", LAYOUT), "write", **keep)
    assert [path.name for path in tmp_path.iterdir()] == left


def test_memory_is_what_is_allocated() -> None:
    work = plan(Pattern("x", Segmented(1 << 30, (1 << 20,), count=1024)), 1)
    rules = RunRules()
    assert buffer_bytes(rules, work, 0, "read") == 1 << 30
    assert buffer_bytes(rules, work, 0, "write") == PERIOD + (1 << 20)  # a ring
    assert buffer_bytes(RunRules(whole_buffer=True), work, 0, "write") == 1 << 30  # CONS-41


# RES-31, RES-32, CONS-35..37: the time of the calls of the slowest process; sync only where it is asked for
@pytest.mark.parametrize("strategy", [None, "two_phase", "independent"])
@pytest.mark.parametrize(
    ("sync", "phase", "timed"),
    [("none", "write", "write"), ("none", "read", "read"), ("end", "write", "write, sync"), ("end", "read", "read")],
)
def test_the_time_of_the_calls(sync: SyncRule, phase: Access, timed: str, strategy: str | None, tmp_path: Path) -> None:
    pattern = Pattern("x", Strided(4096, ncalls=4), coll=True, metric="aggregate", sync=sync)
    record = run(tmp_path, pattern, phase, strategy=strategy, manner=Manner(call_barriers=True))
    samples = record.samples
    assert record.facts["timed"] == timed
    assert (record.facts["call_barriers"], record.facts["synced"]) == (True, "sync" in timed)
    for number, elapsed_s in enumerate(samples.elapsed_s):
        assert elapsed_s == pytest.approx(samples.io[number].max_s + samples.sync[number].max_s)


@pytest.mark.parametrize("given", [{"intra_barriers": True}, {"manner": Manner(intra_barriers=True)}, {}])
def test_barriers_inside_are_an_option(given: dict[str, Any], tmp_path: Path) -> None:  # CONS-25
    assert run(tmp_path, Pattern("x", LAYOUT), "write", **given).facts["intra_barriers"] == bool(given)
