"""GlusterFS of one machine: brick servers on loopback, volume files written here, a client mount for each node.

Translators are those that matter to MPI-IO. `coherent` is the mount that several clients may write one file through;
without it (the default of the mount helper) each client keeps its own pages. `shard` cuts files into pieces; upstream
supports it for a single writer only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HOST = "127.0.0.2"
LIMIT_S = 20.0


def missing_reason() -> str | None:
    """Say why there can be no bed here, or None where there can."""
    lacking = [name for name in ("glusterfsd", "glusterfs", "umount") if shutil.which(name) is None]
    if os.geteuid() != 0:
        return "needs root to mount GlusterFS"
    if not Path("/dev/fuse").exists():
        return "needs /dev/fuse"
    return f"needs {', '.join(lacking)} (apt-get install glusterfs-server)" if lacking else None


def volume(name: str, kind: str, options: Mapping[str, object], below: Sequence[str] = ()) -> str:
    """One translator of a volume file."""
    lines = [f"volume {name}", f"    type {kind}", *(f"    option {key} {value}" for key, value in options.items())]
    lines += [f"    subvolumes {' '.join(below)}"] if below else []
    return "\n".join([*lines, "end-volume", ""]) + "\n"


@dataclass
class Bed:
    """Bricks and clients that are up."""

    place: Path
    bricks: int
    ports: list[int]
    clients: dict[str, Path] = field(default_factory=dict)
    """Mount point of each node's client."""

    def server_file(self, number: int) -> Path:
        """The volume file of one brick."""
        chain: list[tuple[str, str, dict[str, object]]] = [
            ("posix", "storage/posix", {"directory": self.place / f"brick{number}"}),
            ("locks", "features/locks", {}),
            ("threads", "performance/io-threads", {"thread-count": 8}),
            (f"brick{number}", "debug/io-stats", {}),
        ]
        text = ""
        below: list[str] = []
        for name, kind, options in chain:
            text, below = text + volume(name, kind, options, below), [name]
        listen = {
            "transport-type": "tcp",
            "transport.socket.bind-address": HOST,
            "transport.socket.listen-port": self.ports[number],
            f"auth.addr.brick{number}.allow": "*",
        }
        path = self.place / f"brick{number}.vol"
        path.write_text(text + volume("server", "protocol/server", listen, below))
        return path

    def client_file(self, *, shard: str | None, coherent: bool) -> Path:
        """The volume file of every client."""
        text = ""
        for number in range(self.bricks):
            remote = {
                "transport-type": "tcp",
                "remote-host": HOST,
                "remote-port": self.ports[number],
                "remote-subvolume": f"brick{number}",
                "ping-timeout": 10,
            }
            text += volume(f"client{number}", "protocol/client", remote)
        text += volume("spread", "cluster/distribute", {}, [f"client{number}" for number in range(self.bricks)])
        below = "spread"
        layers: list[tuple[str, str, dict[str, object]]] = []
        if shard:
            layers.append(("shard", "features/shard", {"shard-block-size": shard}))
        if not coherent:
            layers += [("behind", "performance/write-behind", {}), ("meta", "performance/md-cache", {})]
        layers.append(("top", "debug/io-stats", {}))
        for name, kind, options in layers:
            text, below = text + volume(name, kind, options, [below]), name
        path = self.place / "client.vol"
        path.write_text(text)
        return path


def free_ports(count: int) -> list[int]:
    """Ports that nobody listened at a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


def wait_until(ready: Callable[[], bool], what: str) -> None:
    """Ask until it is so; a bed that does not come up fails the test."""
    until = time.monotonic() + LIMIT_S
    while not ready():
        if time.monotonic() > until:
            pytest.fail(f"{what} did not come up within {LIMIT_S:g} s")
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), 0.2):
        return True
    return False


def _is_mounted(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.is_mount() and list(path.iterdir()) is not None
    return False


def _start(program: str, described: Path, name: str, *arguments: str) -> None:
    place = described.parent
    files = ["-f", str(described), "-p", str(place / f"{name}.pid"), "-l", str(place / f"{name}.log")]
    subprocess.run([program, *files, *arguments], check=True, timeout=LIMIT_S)


def _end(pid_file: Path) -> None:
    """End the process of a pid file that this bed wrote, if it is still that process."""
    with contextlib.suppress(OSError, ValueError):
        pid = int(pid_file.read_text())
        if str(pid_file.parent).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def gluster(
    place: Path, nodes: Sequence[str], *, bricks: int = 2, shard: str | None = None, coherent: bool = True
) -> Iterator[Bed]:
    """A volume over `bricks` directories below `place`, mounted once for each node; everything ends with the block."""
    bed = Bed(place, bricks, free_ports(bricks))
    options = ["--direct-io-mode=enable", "--attribute-timeout=0", "--entry-timeout=0"] if coherent else []
    try:
        for number in range(bricks):
            (place / f"brick{number}" / ".glusterfs").mkdir(parents=True)
            _start("glusterfsd", bed.server_file(number), f"brick{number}")
        wait_until(lambda: all(map(_listens, bed.ports)), "the bricks")
        client = bed.client_file(shard=shard, coherent=coherent)
        for node in nodes:
            mount = place / "mounts" / node
            mount.mkdir(parents=True)
            bed.clients[node] = mount
            _start("glusterfs", client, node, "--process-name", "fuse", *options, str(mount))
        wait_until(lambda: all(map(_is_mounted, bed.clients.values())), "the clients")
        yield bed
    finally:
        for mount in bed.clients.values():
            if subprocess.run(["umount", mount], check=False, capture_output=True, timeout=LIMIT_S).returncode:
                subprocess.run(["umount", "-l", mount], check=False, capture_output=True, timeout=LIMIT_S)
        for pid_file in place.glob("*.pid"):
            _end(pid_file)
