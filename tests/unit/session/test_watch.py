"""The hub's mind, without sockets and without waiting."""

from __future__ import annotations

import signal
from typing import Any

from pytest_pario.session.ranks import Peer, tell_some
from pytest_pario.session.watch import ABORT_S, DIE_S, FINISH_S, Watch
from pytest_pario.session.wire import ALARM, CALL


def watch(size: int = 3, timeout_s: float = 10.0, grace_s: float = 2.0) -> Watch:
    made = Watch(size, timeout_s, grace_s, now=0.0)
    made.peers = {rank: Peer(rank, "host", 100 + rank, True) for rank in range(size)}
    made.on_message(0, {"op": "test", "nodeid": "t.py::t"}, 0.0)
    return made


def phase(made: Watch, rank: int, now: float, outcome: str = "passed", name: str = "setup") -> None:
    data = {"rank": rank, "outcome": outcome}
    made.on_message(rank, {"op": "gather", "kind": "phase", "label": f"t.py::t [{name}]", "data": data}, now)


def sent(made: Watch) -> list[tuple[int, str, dict[str, Any]]]:
    taken = made.outbox[:]
    made.outbox.clear()
    return taken


def stack(line: int, source: str = "comm.Barrier()") -> list[list[object]]:
    return [["/somewhere/t.py", line, "test_t", source]]


def test_nobody_hears_before_all_have_come() -> None:
    made = watch()
    phase(made, 0, 1.0)
    phase(made, 2, 1.1)
    assert sent(made) == []
    phase(made, 1, 1.2)
    messages = sent(made)
    assert {rank for rank, channel, _ in messages if channel == CALL} == {0, 1, 2}
    assert all(message["outcome"] == "passed" for _, _, message in messages)
    assert [rank for rank, _, message in messages if "ranks" in message] == [0]


def test_one_failure_is_everybodys() -> None:
    made = watch()
    for rank in range(3):
        phase(made, rank, 1.0, "failed" if rank == 2 else "passed")
    assert {message["outcome"] for _, _, message in sent(made)} == {"failed"}


def test_a_phase_has_its_time_and_then_everybody_is_asked() -> None:
    made = watch()
    phase(made, 1, 1.0)
    assert made.deadline() == 10.0
    made.on_tick(9.9)
    assert sent(made) == []
    made.on_tick(10.0)
    assert sent(made) == [(rank, ALARM, {"op": "dump"}) for rank in range(3)]


def test_the_diagnosis_says_who_is_where() -> None:
    made = watch()
    phase(made, 1, 1.0)
    made.on_tick(10.0)
    sent(made)
    made.on_message(0, {"op": "stack", "stack": stack(7)}, 10.1)
    made.on_message(1, {"op": "stack", "stack": stack(99)}, 10.1)
    made.on_message(2, {"op": "stack", "stack": stack(9, "while True: pass")}, 10.2)
    orders = sent(made)
    assert [rank for rank, _, order in orders if order["op"] == "interrupt"] == [0, 2]
    why = orders[0][2]["why"]
    assert why == (
        "no end of t.py::t [setup] within 10 s: rank 0 in Barrier at /somewhere/t.py:7; "
        "rank 2 in test body at /somewhere/t.py:9; rank 1 finished this phase and waiting for the others"
    )


def test_ranks_that_come_out_save_the_job() -> None:
    made = watch()
    made.on_tick(10.0)
    made.on_tick(12.1)
    for rank in range(3):
        phase(made, rank, 12.5, "failed")
    assert made.mode == "running"
    assert made.journal_lines == []


def test_ranks_that_stay_end_it() -> None:
    made = watch()
    made.on_tick(10.0)
    for rank in range(3):
        made.on_message(rank, {"op": "stack", "stack": stack(7)}, 10.1)
    sent(made)
    made.on_tick(20.0)
    (order,) = [message for rank, channel, message in sent(made) if (rank, channel) == (0, ALARM)]
    assert order["op"] == "end"
    assert made.journal_lines[0]["event"] == "abort"
    assert made.journal_lines[0]["nodeid"] == "t.py::t"
    made.on_message(0, {"op": "finished"}, 21.0)
    orders = [message for _, _, message in sent(made)]
    assert orders == [{"op": "die", "status": 1, "wait_s": ABORT_S}] * 3  # root aborts, the others wait for that
    assert made.words == []  # root has told it
    made.on_tick(21.0 + DIE_S)
    assert not made.over
    made.on_tick(21.0 + DIE_S + ABORT_S)
    assert made.kill == {0, 1, 2}
    assert made.over


def test_nobody_waits_for_the_abort_of_a_root_that_keeps_silent() -> None:
    made = watch()
    made.on_tick(10.0)
    for rank in (1, 2):
        made.on_message(rank, {"op": "stack", "stack": stack(7)}, 10.1)
    made.on_tick(20.0)
    made.on_tick(30.0)
    sent(made)
    made.on_tick(40.0)
    assert [message for _, _, message in sent(made)] == [{"op": "die", "status": 1, "wait_s": 0.0}] * 3


def test_a_root_that_cannot_report_is_spoken_for() -> None:
    made = watch()
    made.end("something broke")
    made.on_tick(FINISH_S + 0.1)
    assert made.words == ["pario: something broke"]


def test_after_a_failure_the_others_get_a_grace_that_grows_with_the_phase() -> None:
    made = watch()
    phase(made, 2, 0.5, "failed")
    assert made.deadline() == 0.5 + 2.0
    slow = watch(timeout_s=100)
    phase(slow, 2, 20.0, "failed")
    assert slow.deadline() == 20.0 + 40.0


def test_a_dead_rank_is_named_at_once() -> None:
    made = watch()
    made.on_eof(1, 3.0)
    assert made.words == ["pario: rank 1 (pid 101 on host) died in t.py::t [setup]"]
    assert made.journal_lines[0]["dead"] == 1
    # the launcher's SIGTERM to the survivors does not turn the abort into a stop
    made.on_message(0, {"op": "signal", "signum": int(signal.SIGTERM)}, 3.1)
    assert [line["event"] for line in made.journal_lines] == ["abort"]


def test_ranks_that_die_together_are_all_named_for_none_is_known_to_be_the_first() -> None:
    made = watch(size=3)
    made.on_eof(0, 3.0)
    made.on_eof(2, 3.001)
    assert made.words == ["pario: rank 0 (pid 100 on host) died in t.py::t [setup]"]
    made.on_eof(1, 3.002)
    assert made.over
    (words,) = made.words[1:]
    assert "any of them may have been the first" in words
    assert words.endswith(": rank 2 (pid 102 on host), rank 1 (pid 101 on host)")


def test_followers_are_told_after_a_moment_and_later_ones_are_none() -> None:
    made = watch(size=4)
    made.on_eof(3, 3.0)
    made.on_eof(2, 3.001)
    due = made.deadline()
    assert due is not None
    assert 3.001 < due < 3.1
    made.on_tick(due)
    assert made.words[1].endswith(": rank 2 (pid 102 on host)")
    made.on_eof(1, 4.0)
    made.on_eof(0, 4.0)
    assert len(made.words) == 2


def test_of_many_ranks_the_first_are_named() -> None:
    assert tell_some([f"rank {rank}" for rank in range(64)]).endswith("rank 6, rank 7 and 56 more")


def test_ranks_out_of_step_are_told() -> None:
    made = watch(size=2)
    made.on_message(0, {"op": "gather", "kind": "bcast", "label": "selection"}, 1.0)
    phase(made, 1, 1.0)
    assert (
        "out of step: rank 0 at bcast selection; rank 1 at phase t.py::t [setup]" in made.journal_lines[0]["diagnosis"]
    )


def test_a_signal_stops_all_ranks_alike() -> None:
    made = watch()
    phase(made, 2, 1.0)
    made.on_message(1, {"op": "signal", "signum": int(signal.SIGTERM)}, 2.0)
    orders = {rank: (channel, message) for rank, channel, message in sent(made)}
    assert orders[2] == (CALL, {"stop": "SIGTERM at rank 1"})
    assert orders[0][1]["op"] == orders[1][1]["op"] == "interrupt"
    for rank in range(3):
        data = {"status": 2, "why": "Exit"}
        made.on_message(rank, {"op": "gather", "kind": "exit", "label": "exit status", "data": data}, 2.5)
    assert {message["status"] for _, channel, message in sent(made) if channel == CALL} == {2}


def test_a_rank_that_cannot_go_on_stops_all_where_they_meet() -> None:
    made = watch(size=2)
    phase(made, 1, 1.0)
    halted = {"op": "gather", "kind": "phase", "label": "t.py::t [setup]", "data": {}, "halt": {"why": "disk full"}}
    made.on_message(0, halted, 1.5)
    assert sent(made) == [(rank, CALL, {"stop": "rank 0: disk full"}) for rank in (0, 1)]
    assert made.journal_lines == [{"event": "stop", "reason": "rank 0: disk full", "nodeid": "t.py::t", "again": False}]
    for rank in range(2):
        data = {"status": 2, "why": "Exit"}
        made.on_message(rank, {"op": "gather", "kind": "exit", "label": "exit status", "data": data}, 2.5)
    assert [message["status"] for _, _, message in sent(made)] == [2, 2]


def test_ranks_that_do_not_stop_are_ended() -> None:
    made = watch()
    made.on_message(1, {"op": "signal", "signum": int(signal.SIGTERM)}, 2.0)
    sent(made)
    made.on_tick(2.0 + made.stop_s)
    assert {message["op"] for _, _, message in sent(made)} == {"dump"}


def test_one_exit_status_for_all() -> None:
    made = watch(size=2)
    for rank, status in enumerate((1, 3)):
        data = {"status": status, "why": None}
        made.on_message(rank, {"op": "gather", "kind": "exit", "label": "exit status", "data": data}, 1.0)
    assert [message["status"] for _, _, message in sent(made)] == [3, 3]


def test_an_exception_while_reports_are_written_is_everybodys_status() -> None:
    made = watch(size=2)
    told: list[dict[str, Any]] = [{"status": 1, "raised": True}, {"status": 0}]
    for rank, data in enumerate(told):
        message = {"op": "gather", "kind": "exit", "label": "reports written", "data": data}
        made.on_message(rank, message, 1.0)
    assert [message["status"] for _, _, message in sent(made)] == [1, 1]


def subtest(made: Watch, rank: int, now: float, outcome: str = "passed") -> None:
    data = {"rank": rank, "outcome": outcome}
    made.on_message(rank, {"op": "gather", "kind": "subtest", "label": "t.py::t [call]", "data": data}, now)


def in_call() -> Watch:
    made = watch()
    for rank in range(3):
        phase(made, rank, 1.0)
    sent(made)
    return made


def test_a_subtest_does_not_end_the_phase() -> None:
    made = in_call()
    for rank in range(3):
        subtest(made, rank, 2.0, "failed" if rank == 1 else "passed")
    assert {message["outcome"] for _, _, message in sent(made)} == {"failed"}
    assert made.running
    assert (made.running.phase, made.running.since) == ("call", 1.0)
    for rank in range(3):
        phase(made, rank, 3.0, name="call")
    assert made.running.phase == "teardown"


def test_ranks_with_more_subtests_go_on_while_the_others_wait() -> None:
    made = in_call()
    phase(made, 0, 2.0, name="call")
    subtest(made, 1, 2.0, "failed")
    subtest(made, 2, 2.0)
    assert [(rank, message["outcome"]) for rank, _, message in sent(made)] == [(1, "failed"), (2, "failed")]
    assert made.first_failure is None  # nobody waits for a rank that failed
    phase(made, 1, 3.0, name="call")
    phase(made, 2, 3.0, name="call")
    assert {rank for rank, _, _ in sent(made)} == {0, 1, 2}
    assert made.mode == "running"


def test_no_limit_where_the_limit_is_zero() -> None:
    made = watch(timeout_s=0)
    phase(made, 0, 1.0)
    assert made.deadline() is None


def joined(size: int = 2) -> Watch:
    made = Watch(size, 10.0, 2.0, now=0.0)
    assert made.deadline() is None  # how long ranks may take to join is the hub's to limit
    made.on_joined(1.0)
    return made


def gather(made: Watch, kind: str, label: str, now: float) -> None:
    for rank in range(made.size):
        data = {"status": 0, "why": None} if kind == "exit" else None
        made.on_message(rank, {"op": "gather", "kind": kind, "label": label, "data": data}, now)
    sent(made)


def test_a_hang_in_collection_is_told_though_no_rank_waits() -> None:
    made = joined()
    gather(made, "bcast", "seed", 2.0)
    assert made.deadline() == 12.0
    made.on_message(0, {"op": "step", "name": "collection"}, 3.0)
    assert made.deadline() == 13.0
    made.on_tick(13.0)
    for rank in range(2):
        made.on_message(rank, {"op": "stack", "stack": [["/somewhere/t.py", 3, "<module>", "import hung"]]}, 13.1)
    assert made.diagnosis == (
        "no end of the session (collection) within 10 s: ranks 0,1 in module body at /somewhere/t.py:3"
    )
    made.on_tick(15.0)
    assert (made.journal_lines[0]["event"], made.journal_lines[0]["nodeid"]) == ("abort", None)


def test_reports_have_the_time_of_a_step_and_no_test_is_blamed_for_them() -> None:
    made = watch(size=2)
    for name in ("setup", "call", "teardown"):
        for rank in range(2):
            phase(made, rank, 1.0, name=name)
    gather(made, "exit", "exit status", 20.0)
    assert made.deadline() == 30.0
    made.on_tick(30.0)
    made.on_tick(33.0)
    made.on_tick(35.0)
    assert made.journal_lines[0]["nodeid"] is None
    assert "no end of the session (reports)" in made.diagnosis


def test_who_has_taken_leave_has_no_limit() -> None:
    made = joined()
    gather(made, "leave", "end", 2.0)
    assert made.deadline() is None


def test_leaving_together_is_no_accident() -> None:
    made = watch(size=2)
    for rank in range(2):
        made.on_message(rank, {"op": "gather", "kind": "leave", "label": "end"}, 1.0)
    made.on_eof(0, 1.1)
    made.on_eof(1, 1.1)
    assert made.over
    assert made.words == []


def test_who_announces_its_end_is_the_culprit_whosever_connection_closes_first() -> None:
    made = in_call()
    made.on_message(2, {"op": "quit", "status": 0}, 2.0)
    for rank in (0, 2, 1):
        made.on_eof(rank, 2.1)
    assert made.words == ["pario: rank 2 (pid 102 on host) died in t.py::t [call]: os._exit(0)"]
    assert [line["dead"] for line in made.journal_lines] == [2]
    assert made.over


def test_an_end_after_the_leave_is_no_accident() -> None:
    made = watch(size=2)
    for rank in range(2):
        made.on_message(rank, {"op": "gather", "kind": "leave", "label": "end"}, 1.0)
    made.on_message(1, {"op": "quit", "status": 0}, 1.1)
    assert made.words == []
