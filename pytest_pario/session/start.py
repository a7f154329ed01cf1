"""Form the session: start the hub, initialise MPI, exchange the token, join."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.errors import ParameterError, ParioError, SessionError
from pytest_pario.options import Options
from pytest_pario.session import voice
from pytest_pario.session.chronicle import Chronicle
from pytest_pario.session.client import HubClient
from pytest_pario.session.collecting import Collecting
from pytest_pario.session.keys import OPTIONS, SESSION, WITHOUT_MPI
from pytest_pario.session.launch import INHERITED, Launch, detect_launch, launch_key
from pytest_pario.session.limits import start_limit_s, within_start_limit
from pytest_pario.session.processes import host_key, shared_segments, start_time
from pytest_pario.session.ranked import RankedSession
from pytest_pario.session.scratch import check_directory, choose_directory
from pytest_pario.session.wire import new_token

HUB_ADDRESS = "PARIO_HUB_ADDRESS"
JOIN_S = 60.0
"""How long ranks may take to join after the first."""


def start_session(config: pytest.Config) -> None:
    """Join this process to the session of its job and register the session's hooks."""
    launch = detect_launch(os.environ)
    _refuse_workers(config)
    limit_s = start_limit_s(os.environ)
    hub = _spawn_hub(limit_s) if launch is None or launch.rank == 0 else None
    try:
        if launch is None or hub is not None:
            reason = mpi.unavailable_reason()
        else:  # root is watched by its hub, which it may never have come to start
            reason = within_start_limit(launch.rank, limit_s, mpi.unavailable_reason)
        if reason is not None:
            if launch is not None and launch.size > 1:
                raise SessionError(reason)
            config.stash[WITHOUT_MPI] = reason
            return
        _check_world(launch)
        os.environ[INHERITED] = launch_key(os.environ)
        client, hosts = _join(hub, config.stash[OPTIONS])
        if hub is not None:
            for path in shared_segments():
                client.tell("scratch", add=path)
    except BaseException:
        if hub is not None:
            hub.kill()
        raise
    session = RankedSession(config, client, hosts, hub, _open_chronicle(config, client, hosts))
    config.stash[SESSION] = session
    if session.rank > 0:
        voice.write_nothing(config)
    config.pluginmanager.register(session, "pario-session")
    config.pluginmanager.register(Collecting(session), "pario-collecting")
    session.client.watch()


def _open_chronicle(config: pytest.Config, client: HubClient, hosts: list[dict[str, Any]]) -> Chronicle | None:
    """Root checks the scratch directory and opens the journal; what is wrong with them is everybody's error."""
    chronicle, problem = None, None
    if client.rank == 0:
        try:
            check_directory(*choose_directory(config.stash[OPTIONS].directory, os.environ))
            _check_parameters(config.stash[OPTIONS])
            chronicle = Chronicle(config, client, hosts)
        except (ParioError, OSError) as error:
            problem = str(error)
    problem = client.gather("bcast", "journal", problem)["data"]
    if problem is not None:
        client.close()
        raise SessionError(problem)
    return chronicle


def _check_parameters(options: Options) -> None:
    """Refuse a wrong parameter once, before any test; those of the environment wait for a test that has parameters."""
    if options.parameters:
        from pytest_pario.workloads.parameters import resolve
        from pytest_pario.workloads.table import TABLE

        resolve(TABLE, options.parameters)


def _refuse_workers(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        raise SessionError("-n of pytest-xdist starts workers that are no ranks; leave it out under MPI")


def _check_world(launch: Launch | None) -> None:
    """A launcher of another MPI than mpi4py's gives N singletons that all believe to be root."""
    size, rank = mpi.load().COMM_WORLD.Get_size(), mpi.load().COMM_WORLD.Get_rank()
    tasks = os.environ.get("SLURM_NTASKS", "1")
    by_slurm = "SLURM_PROCID" in os.environ and (launch is None or launch.launcher == "Slurm")
    if by_slurm and size == 1 and tasks.isdigit() and int(tasks) > 1:
        raise SessionError(
            f"Slurm started {tasks} tasks, but each is an MPI world of 1: start with srun --mpi=pmi2 "
            "(or --mpi=pmix for Open MPI), or with mpiexec inside the allocation"
        )
    if launch is not None and (launch.size != size or launch.rank != rank):
        raise SessionError(
            f"the launcher ({launch.launcher}) started rank {launch.rank} of {launch.size}, but mpi4py's library "
            f"({mpi.library_version()}) sees rank {rank} of {size}: use the mpiexec that belongs to this library"
        )


def _spawn_hub(start_limit_s: float) -> subprocess.Popen[str]:
    """Start the hub before MPI is initialised: a process that uses MPI should not fork."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "OMPI", "MPI"))}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest_pario.session.hub", str(start_limit_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
        env=environment,
    )


def _join(hub: subprocess.Popen[str] | None, options: Options) -> tuple[HubClient, list[dict[str, Any]]]:
    """Exchange hosts by MPI, configure the hub, give its address and the token to all ranks by MPI, connect."""
    world = mpi.load().COMM_WORLD
    pid = os.getpid()
    facts = {"host": socket.gethostname(), "pid": pid, "boot": host_key(), "started": start_time(pid)}
    hosts: list[dict[str, Any]] = world.allgather(facts)
    meeting: tuple[list[str], int, str] | str = ""
    if hub is not None:
        meeting = _open_hub(hub, hosts, options)
    meeting = world.bcast(meeting, root=0)
    if isinstance(meeting, str):
        raise SessionError(meeting)
    addresses, port, token = meeting
    try:
        return HubClient(addresses, port, token, world.Get_rank(), facts), hosts
    except SessionError as error:
        # the other ranks have joined or wait for this one: only an abort reaches them all
        os.write(2, f"pario: {error}\n".encode())
        world.Abort(4)
        raise


def _open_hub(
    hub: subprocess.Popen[str], hosts: list[dict[str, Any]], options: Options
) -> tuple[list[str], int, str] | str:
    """Let the hub listen: on loopback where all ranks share a host, else on every address of root's host."""
    given = os.environ.get(HUB_ADDRESS)
    one_host = len({host["boot"] for host in hosts}) == 1
    if given or one_host:
        bind = given or "127.0.0.1"
        addresses = [bind]
    else:
        bind, addresses = "", hub_addresses()
    if not addresses:
        return f"root's host has no address but loopback; name one that all hosts reach in {HUB_ADDRESS}"
    settings = {
        "size": len(hosts),
        "token": new_token(),
        "bind": bind,
        "boot": hosts[0]["boot"],
        "root_pid": os.getpid(),
        "timeout_s": options.timeout_s,
        "grace_s": options.grace_s,
        "join_s": JOIN_S,
    }
    assert hub.stdin is not None
    assert hub.stdout is not None
    try:
        hub.stdin.write(json.dumps(settings) + "\n")
        hub.stdin.flush()
        answer = json.loads(hub.stdout.readline())
    except (OSError, ValueError) as error:
        answer = {"problem": str(error)}
    if "problem" in answer:
        if given:
            allowed = f"an address of root's host on which the hub can listen; here: {answer['problem']}"
            return str(ParameterError(HUB_ADDRESS, given, allowed, "environment"))
        return f"the hub did not start on root (listening on {bind or 'every address'}): {answer['problem']}"
    return addresses, int(answer["port"]), str(settings["token"])


def hub_addresses() -> list[str]:
    """Addresses of this host by which other hosts may reach it: all but loopback."""
    found = []
    with contextlib.suppress(OSError):
        found += [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                # struct ifreq: 16 bytes of name, then a sockaddr_in whose address stands at bytes 20..23
                request = struct.pack("256s", name.encode()[:15])
                found.append(socket.inet_ntoa(fcntl.ioctl(probe.fileno(), 0x8915, request)[20:24]))
    return [address for address in dict.fromkeys(found) if not address.startswith("127.")]
