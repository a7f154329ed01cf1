"""The hub over real sockets on loopback: who is admitted, and that nobody else can disturb it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_pario.session import wire
from pytest_pario.session.client import HubClient
from pytest_pario.session.hub import Hub

TOKEN = wire.new_token()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    settings = {
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
    hub = Hub(settings)
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


def receive_after_sync(root: HubClient, other: HubClient) -> str:
    """Close rank 1's connections and wait for what the hub orders root to do."""
    both(lambda: root.gather("bcast", "sync", 1), lambda: other.gather("bcast", "sync", 1))
    other._call.close()
    other._alarm.close()
    root._alarm.settimeout(10)
    return str(wire.receive(root._alarm)["op"])
