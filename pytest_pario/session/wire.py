"""Messages between ranks and hub: length-prefixed JSON, bounded, admitted only with the job's token.

The token never crosses the wire: both sides prove that they know it by a keyed digest of the other's nonce.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import socket
import struct
from typing import Any

Message = dict[str, Any]

CALL, ALARM = "call", "alarm"
"""The two channels of a rank: its main thread's, and that of the thread that sleeps until something is wrong."""

HEADER = struct.Struct(">I")
MESSAGE_LIMIT_BYTES = 32 << 20
"""Upper bound of one message; far above the bounded texts that ranks send."""
ROOM_BYTES = 1 << 20
"""What a message holds beside the ranks' data."""
HELLO_LIMIT_BYTES = 4096
"""Upper bound before a peer has proved itself."""
TEXT_LIMIT = 48 << 10
"""A captured text is cut to this many characters: the first quarter and the last three."""


DIGEST = re.compile(r"[0-9a-f]{64}")
"""What a proof looks like: SHA-256 in hexadecimal."""


class WireError(Exception):
    """The peer is gone, sent something that is no message, or does not know the token."""


def encode(message: Message) -> bytes:
    """Frame a message."""
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) > MESSAGE_LIMIT_BYTES:
        raise WireError(f"message of {len(body)} bytes is above the limit of {MESSAGE_LIMIT_BYTES}")
    return HEADER.pack(len(body)) + body


def send(sock: socket.socket, message: Message) -> None:
    """Send one message; a dead peer is a WireError."""
    try:
        sock.sendall(encode(message))
    except OSError as error:
        raise WireError(f"cannot send: {error}") from error


def receive(sock: socket.socket, limit: int = MESSAGE_LIMIT_BYTES) -> Message:
    """Block until one whole message is there."""
    (length,) = HEADER.unpack(_receive_exactly(sock, HEADER.size))
    return decode(_receive_exactly(sock, _checked(length, limit)))


class Assembler:
    """Cuts a byte stream into messages without blocking."""

    def __init__(self, limit: int = MESSAGE_LIMIT_BYTES) -> None:
        """Start empty; `limit` bounds the next message."""
        self.limit = limit
        self._bytes = bytearray()

    def feed(self, chunk: bytes) -> list[Message]:
        """Add bytes and return the messages that are complete."""
        self._bytes += chunk
        messages = []
        while len(self._bytes) >= HEADER.size:
            (length,) = HEADER.unpack_from(self._bytes)
            end = HEADER.size + _checked(length, self.limit)
            if len(self._bytes) < end:
                break
            messages.append(decode(bytes(self._bytes[HEADER.size : end])))
            del self._bytes[:end]
        return messages


def decode(body: bytes) -> Message:
    """Parse the body of a frame; anything but a JSON object is refused."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise WireError("not a JSON object")
    return message


def new_token() -> str:
    """A secret for one job."""
    return secrets.token_hex(32)


def proof(token: str, nonce: str, claim: str) -> str:
    """Keyed digest by which a peer proves the token for this connection and this claim."""
    return hmac.new(bytes.fromhex(token), f"{nonce}|{claim}".encode(), hashlib.sha256).hexdigest()


def proof_holds(token: str, nonce: str, claim: str, given: object) -> bool:
    """Compare in constant time; what is no digest at all is refused before."""
    known = isinstance(given, str) and DIGEST.fullmatch(given) is not None
    return known and hmac.compare_digest(proof(token, nonce, claim), str(given))


def join(sock: socket.socket, token: str, rank: int, channel: str, facts: Message) -> None:
    """Rank's side of the handshake; also makes sure that the hub knows the token."""
    challenge = receive(sock, HELLO_LIMIT_BYTES)
    nonce, claim = secrets.token_hex(16), f"rank {rank} {channel}"
    given = proof(token, str(challenge.get("nonce")), claim)
    send(sock, {"rank": rank, "channel": channel, "nonce": nonce, "proof": given, **facts})
    if not proof_holds(token, nonce, "hub", receive(sock, HELLO_LIMIT_BYTES).get("proof")):
        raise WireError("the hub does not know this job's token")


def cut_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """Keep beginning and end of a long text and say how much is missing."""
    if len(text) <= limit:
        return text
    head, tail = limit // 4, limit - limit // 4
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[len(text) - tail :]}"


def budget_bytes(size: int) -> int:
    """How much one of `size` ranks may say, where root hears all of them in one message."""
    return (MESSAGE_LIMIT_BYTES - ROOM_BYTES) // size


def _checked(length: int, limit: int) -> int:
    if length > limit:
        raise WireError(f"message of {length} bytes is above the limit of {limit}")
    return length


def _receive_exactly(sock: socket.socket, count: int) -> bytes:
    chunks = bytearray()
    while len(chunks) < count:
        try:
            chunk = sock.recv(count - len(chunks))
        except OSError as error:
            raise WireError(f"cannot receive: {error}") from error
        if not chunk:
            raise WireError("the other side closed the connection")
        chunks += chunk
    return bytes(chunks)
