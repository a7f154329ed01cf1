"""A job over two hosts: network namespaces of this machine with host names and addresses of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_pario.session.launcher import version_of
from tests.mpi.jobs import Job, launcher, run_command

pytestmark = pytest.mark.xdist_group("beds")

FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")

# stands where Hydra expects ssh: run the command in the namespace that is named like the host
REMOTE_SHELL = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; eval exec "$@"' "$host" "$@"
"""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=20)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Two hosts, each behind a link of its own; this machine forwards between them."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2 to make network namespaces")
    names = [f"pario{os.getpid()}h{number}" for number in (1, 2)]
    forwarding = FORWARDING.read_text()
    try:
        for number, name in enumerate(names, start=1):
            ours, theirs = f"pv{os.getpid()}{number}", f"pe{os.getpid()}{number}"
            try:
                ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"cannot make a network namespace: {error.stderr.decode().strip()}")
            ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
            ip("addr", "add", f"10.77.{number}.1/24", "dev", ours)
            ip("link", "set", ours, "up")
            inside = ("netns", "exec", name, "ip")
            ip(*inside, "addr", "add", f"10.77.{number}.2/24", "dev", theirs)
            ip(*inside, "link", "set", theirs, "up")
            ip(*inside, "link", "set", "lo", "up")
            ip(*inside, "route", "add", "default", "via", f"10.77.{number}.1")
        FORWARDING.write_text("1")
        yield names
    finally:
        FORWARDING.write_text(forwarding)
        for number, name in enumerate(names, start=1):
            for words in (["link", "del", f"pv{os.getpid()}{number}"], ["netns", "del", name]):
                subprocess.run(["ip", *words], check=False, capture_output=True, timeout=20)


def run_on(hosts: list[str], directory: Path, *arguments: str) -> Job:
    mpiexec = launcher(4).command[0]
    if "HYDRA" not in version_of(mpiexec):
        pytest.skip("the stand-in for ssh is written for MPICH's Hydra")
    shell = directory / "remote-shell"
    shell.write_text(REMOTE_SHELL)
    shell.chmod(0o755)
    places = ",".join(f"{host}:2" for host in hosts)
    start = [mpiexec, "-launcher", "ssh", "-launcher-exec", str(shell), "-localhost", "10.77.1.1", "-hosts", places]
    command = [*start, "-n", "4", sys.executable, "-m", "pytest", "--with-mpi", "-p", "no:cacheprovider", *arguments]
    return run_command(command, directory, {})


@pytest.mark.rootonly
def test_ranks_on_two_hosts_agree(hosts: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_h.py").write_text(
        "import socket\n"
        "def test_two(comm): assert len(set(comm.allgather(socket.gethostname()))) == 2\n"
        "def test_far_rank_fails(comm): assert comm.rank != 3\n"
    )
    job = run_on(hosts, tmp_path)
    assert job.counts() == {"passed": 1, "failed": 1}, job.output
    assert "pario: 4 ranks on 2 hosts" in job.output
    assert "rank 3 of 4: assert 3 != 3" in job.output


@pytest.mark.rootonly
def test_a_rank_that_dies_on_the_other_host_is_named(hosts: list[str], tmp_path: Path) -> None:
    (tmp_path / "test_h.py").write_text(
        "import os, signal\n"
        "def test_dies(comm):\n"
        "    if comm.rank == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    comm.Barrier()\n"
    )
    job = run_on(hosts, tmp_path)
    assert job.status != 0
    assert f"on {hosts[1]}) died in test_h.py::test_dies [call]" in job.output, job.output
