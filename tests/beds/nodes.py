"""Several nodes on one machine, as MPI libraries see them: a host name each, and a filesystem client each.

Hydra starts its proxies through a stand-in for ssh that enters namespaces of its own (UTS, mount): there the host is
called as it was asked for, and `shared` is that host's own mount.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_pario.session.launcher import version_of
from tests.mpi.jobs import Job, launcher, run_command

REMOTE_SHELL = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
exec unshare --uts --mount --propagation slave sh -c '
    hostname "$0"; mount --bind {hosts} /etc/hosts; mount --bind {mounts}/$0 {shared}; eval exec "$@"' "$host" "$@"
"""


def run_on_nodes(
    clients: Mapping[str, Path], shared: Path, per_node: int, directory: Path, *arguments: str, **environment: str
) -> Job:
    """`python -m pytest ARGUMENTS` on `per_node` ranks of every node; all see the filesystem at `shared`."""
    mpiexec = launcher(2).command[0]
    if "HYDRA" not in version_of(mpiexec):
        pytest.skip("the stand-in for ssh is written for MPICH's Hydra")
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux)")
    names = list(clients)
    hosts, shell = directory / "hosts", directory / "remote-shell"
    hosts.write_text(Path("/etc/hosts").read_text() + "".join(f"127.0.0.1 {name}\n" for name in names))
    mounts = os.path.commonpath([str(path.parent) for path in clients.values()])
    shell.write_text(REMOTE_SHELL.format(*(), hosts=shlex.quote(str(hosts)), mounts=mounts, shared=shared))
    shell.chmod(0o755)
    places = ",".join(f"{name}:{per_node}" for name in names)
    start = [mpiexec, "-launcher", "ssh", "-launcher-exec", str(shell), "-localhost", "127.0.0.1", "-hosts", places]
    command = [*start, "-n", str(per_node * len(names)), sys.executable, "-m", "pytest", "--with-mpi"]
    told = {"PARIO_HUB_ADDRESS": "127.0.0.1", **environment}
    return run_command([*command, "-p", "no:cacheprovider", *arguments], directory, told)
