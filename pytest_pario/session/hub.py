"""The hub: a small process beside root through which the ranks agree and by which they are watched.

It is a process of its own, in its own session, because MPICH kills every rank as soon as one dies: the hub is left to
say which rank died in which test and to close the journal. It sleeps in `select` while nothing is due.

Run as `python -m pytest_pario.session.hub START_LIMIT_S`; root writes one JSON line of settings to its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import selectors
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from pytest_pario.errors import JournalError
from pytest_pario.session.journal import append_line, supervisor_of
from pytest_pario.session.processes import parent_of, remove
from pytest_pario.session.ranks import Peer, name_ranks
from pytest_pario.session.watch import Watch
from pytest_pario.session.wire import (
    ALARM,
    CALL,
    HELLO_LIMIT_BYTES,
    MESSAGE_LIMIT_BYTES,
    Assembler,
    Message,
    WireError,
    encode,
    proof,
    proof_holds,
)

PARENT_CHECK_S = 5.0
"""How often the hub looks whether the launcher is still there."""
WARN_S = 20.0
"""How long MPI may take to start before a word is said about it."""
SEND_LIMIT_S = 10.0
"""A rank that takes nothing for this long is given up."""
HELLO_S = 10.0
"""How long a peer may take to prove that it belongs to this job."""
SPARE_STRANGERS = 64
"""Peers beyond one per rank that may be proving themselves at a time."""


class Connection:
    """One accepted socket: not yet admitted, or a channel of a rank."""

    def __init__(self, sock: socket.socket) -> None:
        """Challenge the peer."""
        self.sock, self.nonce = sock, secrets.token_hex(16)
        self.hello_until = time.monotonic() + HELLO_S
        self.assembler = Assembler(HELLO_LIMIT_BYTES)
        self.rank: int | None = None
        self.channel = ""
        sock.settimeout(SEND_LIMIT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(encode({"nonce": self.nonce}))


class Hub:
    """Sockets, clock and files around a `Watch`."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Listen where root said."""
        self.settings, self.size = settings, int(settings["size"])
        self.token, self.root_pid = str(settings["token"]), int(settings["root_pid"])
        self.launcher_pid = parent_of(self.root_pid)
        self.parent_check_at = time.monotonic() + PARENT_CHECK_S
        self.watch = Watch(self.size, float(settings["timeout_s"]), float(settings["grace_s"]), time.monotonic())
        self.join_until = time.monotonic() + float(settings["join_s"])
        self.channels: dict[tuple[int, str], Connection] = {}
        self.strangers: dict[Connection, None] = {}
        """Peers that have not proved themselves, the oldest first."""
        self.scratch: set[str] = set()
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server((settings["bind"], 0), backlog=min(2 * self.size + 8, 4096))
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)

    @property
    def port(self) -> int:
        """Where the hub listens."""
        return int(self.listener.getsockname()[1])

    def run(self) -> None:
        """Serve until all ranks are gone or the job was ended."""
        while not self.watch.over:
            closed = []
            for key, _ in self.selector.select(self._sleep_s()):
                if key.fileobj is self.listener:
                    self._accept()
                elif not self._read(key.data):
                    closed.append(key.data)
            # last words first: a rank that announced its end explains why connections of others close
            for connection in closed:
                self._drop(connection)
            self._tick()
            self._deliver()
        self._clean_up()

    def _sleep_s(self) -> float:
        now = time.monotonic()
        due = [self.parent_check_at]
        if not self._complete():
            due.append(self.join_until)
        due += [stranger.hello_until for stranger in self.strangers]
        deadline = self.watch.deadline()
        if deadline is not None:
            due.append(deadline)
        return max(0.0, min(due) - now)

    def _complete(self) -> bool:
        return len(self.channels) == 2 * self.size or bool(self.watch.gone)

    def _accept(self) -> None:
        """Take a peer in; the oldest strangers make room, for a rank proves itself at once."""
        while len(self.strangers) >= self.size + SPARE_STRANGERS:
            self._drop(next(iter(self.strangers)))
        try:
            sock, _ = self.listener.accept()
        except OSError:  # gone again, or no file descriptor left
            if self.strangers:
                self._drop(next(iter(self.strangers)))
            return
        try:
            connection = Connection(sock)
        except OSError:
            sock.close()
            return
        self.strangers[connection] = None
        self.selector.register(sock, selectors.EVENT_READ, connection)

    def _read(self, connection: Connection) -> bool:
        """Take what has come; whether the connection stays."""
        try:
            chunk = connection.sock.recv(1 << 18)
            messages = connection.assembler.feed(chunk)
        except (OSError, WireError):
            chunk, messages = b"", []
        for message in messages:
            if connection.rank is None:
                if not self._admits(connection, message):
                    return False
            elif message.get("op") == "scratch":
                self._note_scratch(message)
            elif message.get("op") == "journal":
                self.settings["journal"] = message["path"]
            else:
                self.watch.on_message(connection.rank, message, time.monotonic())
        return bool(chunk)

    def _admits(self, connection: Connection, hello: Message) -> bool:
        """Whether this is a rank of this job; whatever a stranger says costs no more than its own connection."""
        try:
            return self._admit(connection, hello)
        except Exception:
            return False

    def _admit(self, connection: Connection, hello: Message) -> bool:
        """Only a rank of this job, each channel once."""
        rank, channel = hello.get("rank"), hello.get("channel")
        if type(rank) is not int or not 0 <= rank < self.size or channel not in (CALL, ALARM):
            return False
        if not proof_holds(self.token, connection.nonce, f"rank {rank} {channel}", hello.get("proof")):
            return False
        if (rank, str(channel)) in self.channels:
            return False
        peer = Peer(rank, str(hello.get("host")), int(hello.get("pid", 0)), hello.get("boot") == self.settings["boot"])
        answer = encode({"proof": proof(self.token, str(hello.get("nonce")), "hub")})
        connection.rank, connection.channel = rank, str(channel)
        connection.assembler.limit = MESSAGE_LIMIT_BYTES
        self.strangers.pop(connection, None)
        self.channels[rank, connection.channel] = connection
        self.watch.peers[rank] = peer
        if self._complete():
            self.watch.on_joined(time.monotonic())
        connection.sock.sendall(answer)
        return True

    def _drop(self, connection: Connection) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(connection.sock)
        connection.sock.close()
        self.strangers.pop(connection, None)
        if connection.rank is not None:
            self.watch.on_eof(connection.rank, time.monotonic())

    def _tick(self) -> None:
        now = time.monotonic()
        for stranger in [one for one in self.strangers if now >= one.hello_until]:
            self._drop(stranger)
        if now >= self.join_until and not self._complete():
            missing = [rank for rank in range(self.size) if (rank, ALARM) not in self.channels]
            self.watch.gone |= set(missing)
            self.watch.end(f"{name_ranks(missing)} did not join the session", status=3)
            self.join_until = float("inf")
        if now >= self.parent_check_at:
            self.parent_check_at = now + PARENT_CHECK_S
            if parent_of(self.root_pid) not in (self.launcher_pid, None):
                self.watch.end("the launcher of this job is gone", status=3)
        self.watch.on_tick(now)

    def _deliver(self) -> None:
        """Carry out what the watch decided; the journal first, for root may be killed at any moment."""
        while self.watch.journal_lines or self.watch.words or self.watch.outbox:
            for line in _take(self.watch.journal_lines):
                self._write_journal(line)
            for words in _take(self.watch.words):
                self._speak(words)
            if self.watch.mode == "dying":
                self._remove_scratch()  # before the ranks go: the launcher may return before we have looked again
            for rank, channel, message in _take(self.watch.outbox):
                self._send(rank, channel, message)

    def _send(self, rank: int, channel: str, message: Message) -> None:
        connection = self.channels.get((rank, channel))
        if connection is None or rank in self.watch.gone:
            return
        try:
            connection.sock.sendall(encode(message))
        except (OSError, WireError):
            self._drop(connection)

    def _write_journal(self, line: Message) -> None:
        path = self.settings.get("journal")
        if path:
            try:
                append_line(Path(path), {**line, "time": time.time()}, durable=True)
            except JournalError as error:
                # the reason of a stop may be that root could not write either
                if str(error) not in str(line.get("reason")):
                    self.watch.words.append(f"pario: {error}")

    def _speak(self, words: str) -> None:
        """Tell the terminal; MPICH forwards what the hub says even after root was killed."""
        journal, resume = self.settings.get("journal"), ""
        if journal and not supervisor_of(Path(journal), os.environ):
            resume = f"\npario: finished tests are in {journal}; go on with --pario-resume {journal}"
        with contextlib.suppress(OSError):
            os.write(2, f"\n{words}{resume}\n".encode())

    def _note_scratch(self, message: Message) -> None:
        if "add" in message:
            self.scratch.add(str(message["add"]))
        self.scratch.discard(str(message.get("drop")))

    def _clean_up(self) -> None:
        """End local ranks that do not answer, and remove what the test would have removed."""
        for rank in self.watch.kill:
            peer = self.watch.peers.get(rank)
            if peer and peer.local and peer.pid:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(peer.pid, signal.SIGKILL)
        if not self.watch.left:
            self._remove_scratch()

    def _remove_scratch(self) -> None:
        for path in sorted(self.scratch):
            remove(Path(path))


def _take(items: list[Any]) -> list[Any]:
    taken = items[:]
    items.clear()
    return taken


def await_settings(limit_s: float) -> str:
    """Root's line; empty where root is gone or MPI does not start, in which case root is ended."""
    for wait_s, words in (
        (min(WARN_S, limit_s / 2), "MPI has not started; has a rank failed before it (see above)?"),
        (limit_s, f"MPI has not started within {limit_s:g} s (PARIO_START_TIMEOUT); ending the job"),
    ):
        if select.select([sys.stdin], [], [], wait_s)[0]:
            return sys.stdin.readline()
        os.write(2, f"pario: {words}\n".encode())
    os.kill(os.getppid(), signal.SIGTERM)
    return ""


def open_hub(settings: dict[str, Any]) -> tuple[Hub | None, dict[str, Any]]:
    """A hub that listens, and what to answer root: its port, or why there is none."""
    try:
        hub = Hub(settings)
    except OSError as error:
        return None, {"problem": error.strerror or str(error)}
    return hub, {"port": hub.port}


def main() -> NoReturn:
    """Wait for root's settings, answer with the port, serve."""
    # the hub outlives root's signals: it is the one that reports them
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    line = await_settings(float(sys.argv[1]))
    if line:
        hub, answer = open_hub(json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        os.close(1)
        if hub is not None:
            hub.run()
    os._exit(0)


if __name__ == "__main__":
    main()
