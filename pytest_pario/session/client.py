"""A rank's side of the hub: blocking agreement for the main thread, a sleeping thread for alarms and signals.

Two connections: the main thread talks on one without any other thread being involved; the alarm thread sleeps on the
other and works also while the main thread is stuck inside MPI, which releases the interpreter lock.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from pytest_pario.errors import SessionError, WatchdogTimeout
from pytest_pario.session.stacks import main_thread_stack
from pytest_pario.session.wire import ALARM, CALL, Message, WireError, join, receive, send

CONNECT_S = 10.0

INTERRUPT_SIGNAL = signal.SIGRTMIN + 5
"""Raised by the alarm thread in the main thread; free for us in Python, MPICH and Open MPI."""

LEFT_EARLY = 70
"""Exit status of a rank that leaves the session by os._exit(0)."""

HUB_LOST = 3
"""Exit status of all ranks when the hub is gone."""
LOST_S = 5.0
"""How long root may take to say so before the other ranks go by themselves."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """The hub tells this rank to end the session; the text says why."""


class HubClient:
    """Connection of one rank."""

    def __init__(self, addresses: Sequence[str], port: int, token: str, rank: int, facts: Message) -> None:
        """Join on both channels; the first address that answers as the hub is taken."""
        self.rank = rank
        self._call = self._connect(addresses, port, token, CALL, facts)
        self._alarm = self._connect(addresses, port, token, ALARM, facts)
        self.on_end: Callable[[Message], None] = lambda order: None
        """Called by root's alarm thread to write all reports before an abnormal end."""
        self.on_abort: Callable[[int], None] = lambda status: None
        """Called by root's alarm thread to end all ranks with one status; it returns where it could not."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called by root's alarm thread when the hub is gone, to say so and write it down."""
        self._interruption: BaseException | None = None
        self._in_body = False
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._watching = self._leaving = False

    def _connect(self, addresses: Sequence[str], port: int, token: str, channel: str, facts: Message) -> socket.socket:
        problems = []
        for address in addresses:
            try:
                sock = socket.create_connection((address, port), timeout=CONNECT_S)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                join(sock, token, self.rank, channel, facts)
            except (OSError, WireError) as error:
                problems.append(f"{address}:{port}: {error}")
                continue
            sock.settimeout(None)
            return sock
        raise SessionError(
            f"rank {self.rank} cannot reach the hub on root ({'; '.join(problems)}); "
            "name an address of root's host that all hosts reach in PARIO_HUB_ADDRESS"
        )

    # --- main thread --------------------------------------------------------------------------------------------

    def gather(self, kind: str, label: str, data: Any = None, halt: Message | None = None) -> Message:
        """Meet all other ranks at this point; `kind` says who hears what, `halt` why all are to stop (see Watch)."""
        try:
            send(self._call, {"op": "gather", "kind": kind, "label": label, "data": data, "halt": halt})
            reply = receive(self._call)
        except WireError as error:
            if self._watching and not self._leaving:
                time.sleep(2 * LOST_S)  # the alarm thread ends this process, with the reason
            raise SessionError(f"rank {self.rank}: the hub is gone at {label!r}: {error}") from error
        if reply.get("stop") and kind not in ("exit", "leave"):
            raise Stopped(reply["stop"])
        return reply

    def tell(self, op: str, **fields: Any) -> None:
        """Send a message that has no answer."""
        with contextlib.suppress(WireError):  # a lost hub is met and reported at the next gather
            send(self._call, {"op": op, **fields})

    @contextlib.contextmanager
    def body(self) -> Iterator[None]:
        """Mark code of a test, in which an interruption may be raised."""
        self._in_body = True
        try:
            yield
        finally:
            self._in_body = False

    def close(self) -> None:
        """Take leave together with all ranks, then close."""
        self._leaving = True
        with contextlib.suppress(SessionError):
            self.gather("leave", "end of the session")
        for sock in (self._call, self._alarm):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    # --- alarms -------------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Start the alarm thread and take over the signals that stop a job; call it in the main thread."""
        forbid_silent_exit(lambda status: self._alert({"op": "quit", "status": status}))
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for signum in STOP_SIGNALS:
            signal.signal(signum, _leave_to_alarm_thread)
        signal.signal(INTERRUPT_SIGNAL, self._raise_interruption)
        self._watching = True
        threading.Thread(target=self._listen, name="pario-alarm", daemon=True).start()

    def unwatch(self) -> None:
        """Give back what `watch` took."""
        allow_silent_exit()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _listen(self) -> None:
        while True:
            ready, _, _ = select.select([self._alarm.fileno(), self._wake_read], [], [])
            if self._wake_read in ready:
                for signum in set(os.read(self._wake_read, 512)) & set(STOP_SIGNALS):
                    self._alert({"op": "signal", "signum": int(signum)})
            if self._alarm.fileno() in ready:
                try:
                    order = receive(self._alarm)
                except WireError:
                    if self._leaving:
                        return
                    self._outlive_hub()
                self._obey(order)

    def _outlive_hub(self) -> NoReturn:
        """End: the hub cannot be lost while the job goes on, for without it nobody would notice a hang."""
        if self.rank == 0:
            try:
                self.on_lost()
            except Exception:
                # nobody is left to raise to
                os.write(2, traceback.format_exc().encode())
        self._die(HUB_LOST, LOST_S)

    def _alert(self, message: Message) -> None:
        with contextlib.suppress(WireError):
            send(self._alarm, message)

    def _obey(self, order: Message) -> None:
        if order["op"] == "dump":
            self._alert({"op": "stack", "stack": main_thread_stack()})
        elif order["op"] == "interrupt":
            why = str(order["why"])
            self._interruption = Stopped(why) if order.get("stop") else WatchdogTimeout(why)
            signal.pthread_kill(threading.main_thread().ident or 0, INTERRUPT_SIGNAL)
        elif order["op"] == "end":
            try:
                self.on_end(order)
            except Exception:
                # nobody is left to raise to; file descriptor 2 may be captured, the hub's is not
                self._alert({"op": "finished", "problem": traceback.format_exc()})
            else:
                self._alert({"op": "finished"})
        elif order["op"] == "die":
            self._die(int(order["status"]), float(order["wait_s"]))

    def _die(self, status: int, wait_s: float) -> NoReturn:
        """End: by root's abort where the hub says to wait for it, else alone.

        A rank that exits before all are told is taken for a crash by MPICH's mpiexec, which kills the others and
        answers with 9 instead of our status, or not, as it happens.
        """
        if wait_s and self.rank == 0:
            self.on_abort(status)
        elif wait_s:
            time.sleep(wait_s)
        _exit_now(status)

    def _raise_interruption(self, _signum: int, _frame: object) -> None:
        __tracebackhide__ = True
        if self._in_body and self._interruption is not None:
            interruption, self._interruption = self._interruption, None
            self._in_body = False
            raise interruption


def _leave_to_alarm_thread(_signum: int, _frame: object) -> None:
    """Do nothing here: the alarm thread has been woken and asks the hub, which stops all ranks alike."""


_exit_now = os._exit


def forbid_silent_exit(announce: Callable[[int], None]) -> None:
    """Announce `os._exit` of a rank in mid-session, and make that with 0 a failure.

    MPICH's mpiexec would call the whole job a success, or end the other ranks before this one is seen to be gone.
    """
    rank_pid = os.getpid()

    def exit_loudly(status: int) -> NoReturn:
        # children that the rank forked may leave as they like
        if os.getpid() != rank_pid:
            _exit_now(status)
        announce(status)
        _exit_now(status or LEFT_EARLY)

    os._exit = exit_loudly


def allow_silent_exit() -> None:
    """The session is over."""
    os._exit = _exit_now
