from __future__ import annotations

import socket
import threading

import pytest

from pytest_pario.session import wire


def test_a_message_survives_the_wire_in_pieces() -> None:
    framed = wire.encode({"op": "gather", "text": "µ" * 1000}) + wire.encode({"op": "bye"})
    assembler = wire.Assembler()
    received = [message for byte in range(0, len(framed), 7) for message in assembler.feed(framed[byte : byte + 7])]
    assert [message["op"] for message in received] == ["gather", "bye"]


@pytest.mark.parametrize("frame", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02[]", b"\x00\x00\x00\x02{x"])
def test_what_is_no_message_is_refused(frame: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.Assembler().feed(frame)


def test_a_message_above_the_limit_is_never_sent() -> None:
    with pytest.raises(wire.WireError, match="above the limit"):
        wire.encode({"text": "x" * (wire.MESSAGE_LIMIT_BYTES + 1)})


def test_proof_is_bound_to_token_nonce_and_claim() -> None:
    token = wire.new_token()
    given = wire.proof(token, "nonce", "rank 1 call")
    assert wire.proof_holds(token, "nonce", "rank 1 call", given)
    assert not wire.proof_holds(token, "nonce", "rank 2 call", given)
    assert not wire.proof_holds(token, "other", "rank 1 call", given)
    assert not wire.proof_holds(wire.new_token(), "nonce", "rank 1 call", given)
    assert not wire.proof_holds(token, "nonce", "rank 1 call", None)


def test_a_rank_refuses_a_hub_that_does_not_know_the_token() -> None:
    ours, theirs = socket.socketpair()

    def impostor() -> None:
        wire.send(theirs, {"nonce": "x"})
        wire.receive(theirs)
        wire.send(theirs, {"proof": "0" * 64})

    thread = threading.Thread(target=impostor)
    thread.start()
    with pytest.raises(wire.WireError, match="does not know"):
        wire.join(ours, wire.new_token(), 1, "call", {})
    thread.join()


def test_long_text_keeps_both_ends() -> None:
    text = "a" * 50_000 + "b" * 50_000
    cut = wire.cut_text(text, 1000)
    assert cut.startswith("a" * 250)
    assert cut.endswith("b" * 750)
    assert "99000 characters left out" in cut
    assert wire.cut_text("short") == "short"
