"""The hub's mind: agreement, watchdog and the end of a job as a state machine without sockets or clocks.

Events come in by `on_message`, `on_eof` and `on_tick`; what to do about them is left in `outbox`, `words` (for the
terminal's stderr), `journal_lines` and `kill`. Every method takes the time, so that tests need not wait.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from pytest_pario.session.outcome import Merged, RankOutcome, merge
from pytest_pario.session.ranks import Peer, Running, name_ranks, tell_some
from pytest_pario.session.stacks import Place, describe, format_stacks, locate
from pytest_pario.session.wire import ALARM, CALL, Message

ASK_S = 2.0
"""How long ranks may take to send their stacks."""
INTERRUPT_S = 1.5
"""How long interrupted ranks may take to come out of Python code."""
SETTLE_S = 0.05
"""Ranks that go within this time of a death are named, too: a launcher ends the others at once, and the first
connection that closes need not be that of the first rank that died."""
STOP_S = 10.0
"""How long ranks may take to stop after a signal, at most; less with a short grace."""
FINISH_S = 20.0
"""How long root may take to write its reports at an abnormal end."""
DIE_S = 2.0
"""How long ranks may take to exit when told to; then they are killed."""
ABORT_S = 10.0
"""The same where root is to abort the job, for which the others wait."""


@dataclass
class Watch:
    """State of one job."""

    size: int
    timeout_s: float
    """Limit of a phase whose test has no limit of its own, and of session-wide steps; 0 is none."""
    grace_s: float
    """Least time that ranks get to follow after one has failed."""
    now: float
    peers: dict[int, Peer] = field(default_factory=dict)
    outbox: list[tuple[int, str, Message]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    journal_lines: list[Message] = field(default_factory=list)
    kill: set[int] = field(default_factory=set)
    """Ranks to be killed by pid, because they do not answer."""
    over: bool = False

    running: Running | None = None
    mode: str = "running"
    arrived: dict[int, Message] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    followers: list[int] = field(default_factory=list)
    """Ranks whose connections closed soon after those of the first that died."""
    settle_until: float | None = None
    left: bool = False
    """All ranks took leave; closed connections are no accident any more."""
    stopping: str | None = None
    diagnosis: str = ""
    status: int = 1
    stacks: dict[int, list[Any]] = field(default_factory=dict)
    step_until: float | None = None
    step: str = "start"
    """What the session does where no test runs."""
    step_began: float | None = None
    """When all ranks last met, or root began a step; None until all have joined."""
    first_failure: float | None = None
    exit_status: int | None = None
    signalled: float | None = None
    mute: bool = False
    """Root was asked for its stack and kept silent: it will neither write reports nor abort the job."""
    spoken: bool = False
    """The end was told: by root's reports, or by the hub where root cannot."""

    @property
    def stop_s(self) -> float:
        """How long ranks may take to stop after a signal."""
        return min(STOP_S, 3.0 + 2.0 * self.grace_s)

    # --- events -------------------------------------------------------------------------------------------------

    def on_message(self, rank: int, message: Message, now: float) -> None:
        """Take one message of an admitted rank."""
        self.now = now
        handler = {
            "gather": self._on_gather,
            "test": self._on_test,
            "step": self._on_step,
            "stack": self._on_stack,
            "signal": self._on_signal,
            "quit": self._on_quit,
            "finished": self._on_finished,
        }.get(str(message.get("op")))
        if handler is None:
            self.end(f"rank {rank} sent an unknown message {message.get('op')!r}", status=3)
        else:
            handler(rank, message)

    def on_joined(self, now: float) -> None:
        """All ranks are there: from now on each step of the session has its time."""
        self.step_began = now

    def on_eof(self, rank: int, now: float) -> None:
        """A connection of `rank` was closed."""
        self.now = now
        if rank in self.gone:
            return
        self.gone.add(rank)
        if not self.left and self.mode not in ("ending", "dying"):
            self.settle_until = now + SETTLE_S
            self.end(f"{self._introduce(rank)} died in {self._where()}", dead=rank)
        elif self.settle_until is not None:
            self.followers.append(rank)
        if len(self.gone) == self.size:
            self._tell_followers()
            self.over = True
        elif rank == 0 and self.mode == "ending" and not self.left:
            self._tell_to_die()

    def on_tick(self, now: float) -> None:
        """Time has passed."""
        self.now = now
        if self.settle_until is not None and now >= self.settle_until:
            self._tell_followers()
        if self.over or now < (self._step_due() or now + 1):
            return
        if self.mode == "running":
            self._ask()
        elif self.mode == "asking":
            self._interrupt()
        elif self.mode == "interrupting":
            self.end(self.diagnosis, status=(self.exit_status or 2) if self.stopping else 1)
        elif self.mode == "ending":
            self._tell_to_die()
        else:
            self.kill = set(range(self.size)) - self.gone
            self.over = True

    def deadline(self) -> float | None:
        """When `on_tick` has to be called next; None while nothing is due."""
        return min((due for due in (self._step_due(), self.settle_until) if due is not None), default=None)

    def _step_due(self) -> float | None:
        if self.mode != "running":
            return self.step_until
        if self.stopping is not None:
            return self.step_until
        if self.left:
            return None
        limits = []
        timeout_s = self.running.timeout_s if self.running else self.timeout_s
        since = self.running.since if self.running else self.step_began
        if timeout_s > 0 and since is not None:
            limits.append(since + timeout_s)
        if self.first_failure is not None:
            began = self.running.since if self.running else self.first_failure
            limits.append(self.first_failure + max(self.grace_s, 2 * (self.first_failure - began)))
        return min(limits, default=None)

    # --- agreement ----------------------------------------------------------------------------------------------

    def _on_gather(self, rank: int, message: Message) -> None:
        kind, data = message["kind"], message.get("data") or {}
        if kind == "exit" and data.get("why") and self.stopping is None:
            self.exit_status = int(data["status"])
            self._stop(f"{name_ranks([rank])}: {data['why']}", but=rank)
        if self.stopping is not None and kind not in ("exit", "leave"):
            self._reply(rank, {"stop": self.stopping})
            return
        self.arrived[rank] = message
        if kind in ("phase", "subtest") and data.get("outcome") == "failed" and self.first_failure is None:
            self.first_failure = self.now
        if len(self.arrived) == self.size:
            self._complete()

    def _complete(self) -> None:
        labels: dict[str, list[int]] = {}
        for rank, message in sorted(self.arrived.items()):
            labels.setdefault(f"{message['kind']} {message.get('label', '')}".strip(), []).append(rank)
        if len(labels) > 1 and self._complete_uneven_subtests():
            return
        if len(labels) > 1:
            told = "; ".join(f"{name_ranks(ranks)} at {label}" for label, ranks in labels.items())
            self.end(f"the ranks are out of step: {told}", status=3)
            return
        arrived = [self.arrived[rank] for rank in range(self.size)]
        if arrived[0]["kind"] not in ("exit", "leave") and any(message.get("halt") for message in arrived):
            self._halt(arrived)
            return
        self._begin_round()
        getattr(self, f"_complete_{arrived[0]['kind']}")(arrived)

    def _complete_phase(self, arrived: list[Message]) -> None:
        """Every rank hears the outcome; root also what each rank said."""
        merged = self._tell_outcome(arrived)
        if self.running:
            # t.py::test_x [call]
            ended = str(arrived[0]["label"]).rpartition("[")[2].removesuffix("]")
            after = {"setup": "call" if merged.outcome == "passed" else "teardown", "call": "teardown"}
            self.running.phase = after.get(ended, "after teardown")
            self.running.since = self.now
            if self.running.phase == "after teardown":
                # what comes until the next test is the session's work, not that of a test with a limit of its own
                self.running.timeout_s = self.timeout_s

    def _complete_subtest(self, arrived: list[Message]) -> None:
        """The same for a part of a phase, which goes on."""
        self._tell_outcome(arrived)

    def _complete_uneven_subtests(self) -> bool:
        """Some ranks are at the end of a phase, others have a subtest more: these agree among themselves and go on.

        The phase then fails for the differing numbers, which every rank tells at its end.
        """
        behind = {rank: one for rank, one in self.arrived.items() if one["kind"] == "subtest"}
        ahead = {rank: one for rank, one in self.arrived.items() if rank not in behind}
        if not behind or {(one["kind"], one["label"]) for one in ahead.values()} != {
            ("phase", one["label"]) for one in behind.values()
        }:
            return False
        self.arrived = ahead
        if all(one["data"]["outcome"] != "failed" for one in ahead.values()):
            self.first_failure = None
        self._tell_outcome([behind[rank] for rank in sorted(behind)])
        return True

    def _tell_outcome(self, arrived: list[Message]) -> Merged:
        data = [message["data"] for message in arrived]
        merged = merge([RankOutcome.from_wire(one) for one in data], self.size)
        verdict = {"outcome": merged.outcome, "xfail": merged.xfail}
        for one in data:
            self._reply(one["rank"], {**verdict, "ranks": data} if one["rank"] == 0 else verdict)
        return merged

    def _complete_root(self, arrived: list[Message]) -> None:
        """Root hears what each rank said."""
        for rank in range(1, self.size):
            self._reply(rank, {})
        self._reply(0, {"ranks": [message.get("data") for message in arrived]})

    def _complete_bcast(self, arrived: list[Message]) -> None:
        """Every rank hears what root said."""
        for rank in range(self.size):
            self._reply(rank, {"data": arrived[0].get("data")})

    def _complete_exit(self, arrived: list[Message]) -> None:
        """One exit status for all: that of an exception, of the rank that stopped the session, or the most telling."""
        telling = {3: 6, 2: 5, 4: 4, 1: 3, 5: 2, 0: 0}
        statuses = [int(message["data"]["status"]) for message in arrived]
        raised = [int(message["data"]["status"]) for message in arrived if message["data"].get("raised")]
        status = next(iter(raised), self.exit_status)
        if status is None:
            status = max(statuses, key=lambda value: telling.get(value, 7))
        self.running, self.step = None, "reports"
        if self.stopping is not None:
            # all tests have stopped; reports and large files to remove get the time of any other step
            self.step_until = self.now + self.timeout_s if self.timeout_s > 0 else None
        for rank in range(self.size):
            self._reply(rank, {"status": status, "stop": self.stopping})

    def _complete_leave(self, _arrived: list[Message]) -> None:
        self.left = True
        for rank in range(self.size):
            self._reply(rank, {})

    def _on_test(self, _rank: int, message: Message) -> None:
        """Root announces a test, or with an empty name that none runs any more."""
        nodeid, timeout_s = str(message["nodeid"]), float(message.get("timeout_s", self.timeout_s))
        self.running = Running(nodeid, "setup", timeout_s, self.now) if nodeid else None

    def _on_step(self, _rank: int, message: Message) -> None:
        """Root begins something between two meetings that has a time of its own."""
        self.step, self.step_began = str(message["name"]), self.now

    # --- watchdog -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Something is late: ask every rank where it is."""
        self.mode, self.step_until, self.stacks = "asking", self.now + ASK_S, {}
        for rank in self._present():
            self.outbox.append((rank, ALARM, {"op": "dump"}))

    def _on_stack(self, rank: int, message: Message) -> None:
        self.stacks[rank] = message["stack"]
        if self.mode == "asking" and set(self.stacks) >= self._present():
            self._interrupt()

    def _interrupt(self) -> None:
        """Tell who is where, and try to get ranks that run Python code out of it."""
        self.diagnosis = self._diagnose()
        self.mode, self.step_until = "interrupting", self.now + INTERRUPT_S
        for rank in self._missing():
            self.outbox.append((rank, ALARM, {"op": "interrupt", "why": self.diagnosis, "stop": self.stopping}))

    def _diagnose(self) -> str:
        places: dict[int, Place | str] = {}
        for rank in self._missing():
            stack = self.stacks.get(rank)
            places[rank] = (locate(stack) if stack else None) or "no answer (stopped, or holding the interpreter lock)"
        told = describe(places, sorted(self.arrived))
        if self.stopping is not None:
            return f"{self.stopping}; the job did not stop within {self.stop_s:g} s: {told}"
        if self.first_failure is not None:
            ranks = [rank for rank, message in self.arrived.items() if message["data"].get("outcome") == "failed"]
            return f"{name_ranks(ranks)} failed in {self._where()} and the others did not follow: {told}"
        limit = self.running.timeout_s if self.running else self.timeout_s
        return f"no end of {self._where()} within {limit:g} s: {told}"

    def _on_signal(self, rank: int, message: Message) -> None:
        if self.mode in ("ending", "dying"):  # the launcher signals the survivors of a rank that died
            return
        name = signal.Signals(int(message["signum"])).name
        again = self.signalled is not None and self.now - self.signalled > 1.0
        self.signalled = self.signalled or self.now
        if again and self.mode == "running":
            self.end(f"{name} again at {name_ranks([rank])}", status=2)
        elif self.stopping is None:
            self.exit_status = 2
            self._stop(f"{name} at {name_ranks([rank])}")

    def _stop(self, reason: str, but: int | None = None, again: bool = False) -> None:
        """End the session in order: ranks that wait are released, ranks that run are interrupted."""
        self.stopping, self.step_until = reason, self.now + self.stop_s
        self.journal_lines.append({"event": "stop", "reason": reason, "nodeid": self._nodeid(), "again": again})
        leaving = {rank: one for rank, one in self.arrived.items() if one["kind"] in ("exit", "leave")}
        for rank in self._present() - {but} - set(leaving):
            if rank in self.arrived:
                self._reply(rank, {"stop": reason})
            else:
                self.outbox.append((rank, ALARM, {"op": "interrupt", "why": reason, "stop": reason}))
        self._begin_round()
        self.arrived = leaving

    def _halt(self, arrived: list[Message]) -> None:
        """Stop where all ranks have met, because one of them cannot go on with the tests."""
        halts = {rank: message["halt"] for rank, message in enumerate(arrived) if message.get("halt")}
        first = next(iter(halts.values()))
        self.exit_status = 2
        self._stop(f"{name_ranks(halts)}: {first['why']}", again=bool(first.get("again")))

    def _on_quit(self, rank: int, message: Message) -> None:
        """A rank's last word before `os._exit`; without it the launcher may close others' connections first."""
        if not self.left:
            self.end(f"{self._introduce(rank)} died in {self._where()}: os._exit({message['status']})", dead=rank)

    # --- the end ------------------------------------------------------------------------------------------------

    def _tell_followers(self) -> None:
        """A line of its own: that about the first one could not wait, for the launcher may end the terminal, too."""
        if self.followers:
            told = tell_some([self._introduce(rank) for rank in self.followers])
            self.words.append(f"pario: gone in the same moment, and any of them may have been the first: {told}")
        self.followers, self.settle_until = [], None

    def end(self, diagnosis: str, status: int = 1, dead: int | None = None) -> None:
        """The job cannot go on: say so at once, write it down, let root finish its reports, then end all ranks."""
        if self.mode in ("ending", "dying"):
            return
        self.mute = self.mode in ("asking", "interrupting") and 0 not in self.stacks
        self.step_until = self.now + (DIE_S if self.mute else FINISH_S)
        self.mode, self.diagnosis, self.status = "ending", diagnosis, status
        missing = self._missing()
        story = {
            "diagnosis": diagnosis,
            "stacks": format_stacks({rank: stack for rank, stack in self.stacks.items() if rank in missing}),
            "failures": [one["data"] for one in self.arrived.values() if one["kind"] in ("phase", "subtest")],
            "stop": self.stopping,
            "dead": dead,
        }
        where = {"nodeid": self._nodeid(), "phase": self.running and self.running.phase}
        self.journal_lines.append({"event": "abort", **where, **story})
        self.outbox.append((0, ALARM, {"op": "end", "status": status, **story}))
        if dead is not None:  # the launcher may be killing root at this moment
            self._speak()
        if 0 in self.gone:
            self._tell_to_die()

    def _on_finished(self, _rank: int, message: Message) -> None:
        self.spoken = "problem" not in message
        if not self.spoken:
            self.diagnosis += f"\npario: and root could not finish its reports:\n{message['problem']}"
        self._tell_to_die()

    def _speak(self) -> None:
        if not self.spoken:
            self.words.append(f"pario: {self.diagnosis}")
        self.spoken = True

    def _tell_to_die(self) -> None:
        """End all ranks with one status: root's abort does, where root can; ranks that exit race with the launcher."""
        self._speak()
        wait_s = 0.0 if self.mute or 0 in self.gone else ABORT_S
        self.mode, self.step_until = "dying", self.now + DIE_S + wait_s
        for rank in self._present():
            self.outbox.append((rank, ALARM, {"op": "die", "status": self.status, "wait_s": wait_s}))

    # --- small things -------------------------------------------------------------------------------------------

    def _begin_round(self) -> None:
        self.arrived, self.step_began, self.first_failure = {}, self.now, None
        if self.mode in ("asking", "interrupting"):
            self.mode = "running"

    def _reply(self, rank: int, message: Message) -> None:
        self.outbox.append((rank, CALL, message))

    def _present(self) -> set[int]:
        return set(range(self.size)) - self.gone

    def _missing(self) -> list[int]:
        return sorted(self._present() - set(self.arrived))

    def _nodeid(self) -> str | None:
        return self.running.nodeid if self.running and self.running.phase != "after teardown" else None

    def _where(self) -> str:
        if self._nodeid() and self.running:
            return f"{self.running.nodeid} [{self.running.phase}]"
        labels = sorted({str(message.get("label", "")) for message in self.arrived.values()} - {""})
        return f"the session ({', '.join(labels) or ('between tests' if self.running else self.step)})"

    def _introduce(self, rank: int) -> str:
        return str(self.peers.get(rank, f"rank {rank}"))
