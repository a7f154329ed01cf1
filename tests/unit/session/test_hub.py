"""The hub over real sockets on loopback: who is admitted, and that nobody else can disturb it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_pario.session import wire
from pytest_pario.session.client import HubClient
from pytest_pario.session.hub import Hub

TOKEN = wire.new_token()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    told = {
        "size": 2,
        "token": TOKEN,
        "bind": "127.0.0.1",
        "boot": "here",
        "root_pid": os.getpid(),
        "timeout_s": 60,
        "grace_s": 5,
        "join_s": 30,
        "journal": str(tmp_path / "journal.jsonl"),
    }
    hub = Hub(told)
    thread = threading.Thread(target=hub.run, daemon=True)
    thread.start()
    yield hub
    hub.watch.over = True
    socket.create_connection(("127.0.0.1", hub.port)).close()  # wakes it
    thread.join(timeout=10)
    assert not thread.is_alive()


def join(hub: Hub, rank: int, token: str = TOKEN) -> HubClient:
    return HubClient(["127.0.0.1"], hub.port, token, rank, {"host": "h", "pid": 1, "boot": "there"})


def both(*actions: object) -> None:
    threads = [threading.Thread(target=action) for action in actions]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)


def test_two_ranks_agree(hub: Hub) -> None:
    ranks = [join(hub, 0), join(hub, 1)]
    replies: dict[int, object] = {}

    def meet(rank: int) -> None:
        replies[rank] = ranks[rank].gather("bcast", "here", {"from": rank})["data"]

    both(lambda: meet(0), lambda: meet(1))
    assert replies == {0: {"from": 0}, 1: {"from": 0}}
    both(ranks[0].close, ranks[1].close)


def test_a_stranger_is_not_admitted_and_disturbs_nobody(hub: Hub) -> None:
    with pytest.raises(Exception, match="cannot reach the hub"):
        join(hub, 0, token=wire.new_token())
    noise = [socket.create_connection(("127.0.0.1", hub.port)) for _ in range(100)]
    for sock in noise[:50]:
        try:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n" * 1000)
        except OSError:
            continue  # thrown out while still talking
    test_two_ranks_agree(hub)
    for sock in noise:
        sock.close()


NASTY: list[dict[str, object]] = [
    {"rank": 0, "channel": "call", "proof": "\ud800"},
    {"rank": 0, "channel": "call", "proof": "é" * 64},
    {"rank": 0, "channel": "alarm", "proof": "0" * 64, "nonce": "\ud800"},
    {"rank": 0, "channel": ["call"], "proof": {}},
    {"rank": True, "channel": "call", "proof": "0" * 64},
    {"rank": [0], "channel": None, "proof": 10**400},
    {"rank": 1e300, "channel": "call"},
    {"rank": -1, "channel": "\ud800", "proof": ""},
    {"op": "journal", "path": "/dev/null"},
    {},
]


@pytest.mark.parametrize("hello", NASTY)
def test_no_hello_of_a_stranger_ends_the_hub(hub: Hub, hello: dict[str, object]) -> None:
    assert refused(hub, wire.encode(hello))
    test_two_ranks_agree(hub)


def test_no_bytes_of_a_stranger_end_the_hub(hub: Hub) -> None:
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )
    names = st.sampled_from(["rank", "channel", "nonce", "proof", "host", "pid", "op"])
    hellos = st.dictionaries(names, json_values | st.sampled_from(["call", "alarm", 0, 1]))

    @settings(max_examples=60, deadline=None)
    @given(hellos.map(wire.encode) | st.binary(min_size=4, max_size=64).map(lambda some: b"\xff" + some))
    def strangers_are_refused(frame: bytes) -> None:
        assert refused(hub, frame)

    strangers_are_refused()
    test_two_ranks_agree(hub)


def test_a_rank_with_strange_facts_is_refused_and_the_hub_goes_on(hub: Hub) -> None:
    with pytest.raises(Exception, match="cannot reach the hub"):
        HubClient(["127.0.0.1"], hub.port, TOKEN, 0, {"host": "h", "pid": "no number", "boot": ""})
    test_two_ranks_agree(hub)


def test_a_silent_stranger_is_thrown_out(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_pario.session.hub.HELLO_S", 0.05)
    assert refused(hub, b"")


def refused(hub: Hub, frame: bytes) -> bool:
    """Whether the hub closes the connection of who says this."""
    with socket.create_connection(("127.0.0.1", hub.port), timeout=20) as sock:
        wire.receive(sock)  # its nonce
        try:
            sock.sendall(frame)
            return sock.recv(1) == b""
        except ConnectionError:
            return True


def test_a_rank_joins_each_channel_once(hub: Hub) -> None:
    first, _root = join(hub, 1), join(hub, 0)
    with pytest.raises(Exception, match="cannot reach the hub"):
        join(hub, 1)
    with pytest.raises(Exception, match="cannot reach the hub"):
        join(hub, 7)
    assert first.rank == 1


def test_a_lost_rank_is_named_in_the_journal(hub: Hub, tmp_path: Path) -> None:
    root, other = join(hub, 0), join(hub, 1)
    root.tell("test", nodeid="test_x.py::test_y", timeout_s=60)
    root.tell("scratch", add=str(tmp_path / "left-behind"))
    (tmp_path / "left-behind").write_text("data")
    assert receive_after_sync(root, other) == "end"
    text = (tmp_path / "journal.jsonl").read_text()
    assert "rank 1 (pid 1 on h) died in test_x.py::test_y [setup]" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_journal_that_takes_no_line_is_told_once(hub: Hub) -> None:
    hub.settings["journal"], told = "/dev/full", "journal /dev/full cannot be written: No space left on device"
    hub._write_journal({"event": "stop", "reason": f"rank 0: {told}"})
    assert hub.watch.words == []
    hub._write_journal({"event": "abort", "nodeid": "t.py::t"})
    assert hub.watch.words == [f"pario: {told}"]
    hub.watch.words.clear()


def receive_after_sync(root: HubClient, other: HubClient) -> str:
    """Close rank 1's connections and wait for what the hub orders root to do."""
    both(lambda: root.gather("bcast", "sync", 1), lambda: other.gather("bcast", "sync", 1))
    other._call.close()
    other._alarm.close()
    root._alarm.settimeout(10)
    return str(wire.receive(root._alarm)["op"])
