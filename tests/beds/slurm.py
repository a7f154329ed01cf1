"""Slurm of one machine: a controller and a few nodes on loopback, each node with a host name of its own.

Nothing lies outside the bed's directory; the daemons are ended by their pid files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

LIMIT_S = 30.0
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "scancel", "sinfo", "squeue", "unshare")

# everything of one machine and one user; every node listens at a port of its own
CONFIGURATION = """\
ClusterName=bed
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={place}/munge/sock
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool.%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=pmi2
SwitchType=switch/none
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=2,batch_sched_delay=0
SlurmdParameters=config_overrides
NodeName={nodes} NodeHostname={host} NodeAddr=127.0.0.1 Port={node_ports} CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverTimeLimit=0
"""


def missing_reason() -> str | None:
    """Say why there can be no bed here, or None where there can."""
    if os.geteuid() != 0:
        return "needs root to start Slurm's daemons"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    packages = "slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
    return f"needs {', '.join(lacking)} (apt-get install {packages})" if lacking else None


@dataclass(frozen=True)
class Cluster:
    """A batch system that is up."""

    place: Path
    nodes: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """What clients need to find it."""
        return {"SLURM_CONF": str(self.place / "slurm.conf")}

    def run(self, *command: str) -> str:
        """Output of one of Slurm's own commands."""
        told = {**os.environ, **self.environment}
        done = subprocess.run(command, env=told, check=False, capture_output=True, text=True, timeout=LIMIT_S)
        return done.stdout + done.stderr

    def end_jobs(self) -> None:
        """Cancel what still runs and wait for it: the processes of a job outlive the daemons that started them."""
        self.run("scancel", "--user=root")
        until = time.monotonic() + LIMIT_S
        while self.run("squeue", "-h").strip() and time.monotonic() < until:
            time.sleep(0.2)


def _consecutive_ports(count: int) -> int:
    """The first of so many ports that nobody listened at a moment ago."""
    for first in range(16800, 17800, count):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            for number in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("127.0.0.1", number))
            return first
    pytest.skip("no free ports for Slurm between 16800 and 17800")


def _configure(place: Path, nodes: Sequence[str]) -> None:
    port = _consecutive_ports(len(nodes) + 1)
    node_ports = f"[{port + 1}-{port + len(nodes)}]" if len(nodes) > 1 else str(port + 1)
    # Slurm writes lists of hosts as n[1-4]
    listed = f"{nodes[0][:-1]}[1-{len(nodes)}]" if len(nodes) > 1 else nodes[0]
    text = CONFIGURATION.format(host=socket.gethostname(), port=port, place=place, nodes=listed, node_ports=node_ports)
    (place / "slurm.conf").write_text(text)
    hosts = Path("/etc/hosts").read_text() + "".join(f"127.0.0.1 {node}\n" for node in nodes)
    (place / "hosts").write_text(hosts)


def _start_munge(place: Path) -> None:
    (place / "munge").mkdir(mode=0o755)
    key = place / "munge" / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    names = {"key-file": "key", "socket": "sock", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={place}/munge/{name}" for option, name in names.items()]
    subprocess.run(["munged", *options], check=True, timeout=LIMIT_S, capture_output=True)


def _start_node(place: Path, node: str) -> None:
    (place / f"spool.{node}").mkdir()
    script = f"hostname {node}; mount --bind {place}/hosts /etc/hosts; exec slurmd -f {place}/slurm.conf -N {node}"
    command = ["unshare", "--uts", "--mount", "--propagation", "slave", "sh", "-c", script]
    subprocess.run(command, check=True, timeout=LIMIT_S, env={**os.environ, "SLURM_CONF": f"{place}/slurm.conf"})


def _pids(place: Path) -> list[int]:
    found = []
    for file in (*place.glob("*.pid"), place / "munge" / "pid"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(file.read_text())
            if str(place).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def _stop(place: Path) -> None:
    """End the daemons that this bed started; those that do not listen are killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _pids(place):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        until = time.monotonic() + 10
        while _pids(place) and time.monotonic() < until:
            time.sleep(0.1)


@contextlib.contextmanager
def slurm(count: int = 2) -> Iterator[Cluster]:
    """A cluster of `count` nodes n1, n2, …; it ends with the block."""
    # munge insists on a path to its socket that everybody may walk, which pytest's own directories are not
    place = Path(tempfile.mkdtemp(prefix="pario-slurm-"))
    place.chmod(0o755)
    cluster = Cluster(place, tuple(f"n{number}" for number in range(1, count + 1)))
    (place / "state").mkdir()
    try:
        _configure(place, cluster.nodes)
        _start_munge(place)
        subprocess.run(["slurmctld", "-f", place / "slurm.conf"], check=True, timeout=LIMIT_S, capture_output=True)
        for node in cluster.nodes:
            _start_node(place, node)
        until = time.monotonic() + LIMIT_S
        while cluster.run("sinfo", "-h", "-N", "-o", "%T").split().count("idle") < count:
            if time.monotonic() > until:
                pytest.fail(f"Slurm did not come up:\n{cluster.run('sinfo', '-N')}")
            time.sleep(0.2)
        yield cluster
    finally:
        if (place / "slurm.conf").exists():
            with contextlib.suppress(subprocess.TimeoutExpired):
                cluster.end_jobs()
        _stop(place)
        shutil.rmtree(place, ignore_errors=True)
