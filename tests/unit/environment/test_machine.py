from __future__ import annotations

import os

import pytest

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Json
from pytest_pario.environment.machine import collect, cores_available, describe_ranks, memory_limit
from tests.unit.environment.answers import Answers

BOUND = len(os.sched_getaffinity(0))
V2 = {"/proc/self/cgroup": "0::/user.slice/job_12\n"}
V1 = {"/proc/self/cgroup": "4:memory:/job_12\n3:cpu,cpuacct:/job_12\n0::/\n"}


def spread(*hostnames: str, cores: int = 2) -> dict[str, Json]:
    return {name: told.value for name, told in describe_ranks(hostnames, cores).items()}


def test_ranks_over_nodes() -> None:
    assert spread("n1", "n1", "n2", "n2") == {
        "ranks": 4,
        "ranks_per_node": 2,
        "nodes": 2,
        "hostnames": ["n1", "n2"],
        "oversubscribed": False,
    }


def test_uneven_and_oversubscribed_nodes() -> None:
    told = spread("n2", "n1", "n1", "n1")
    assert (told["ranks_per_node"], told["oversubscribed"]) == ([3, 1], True)
    assert spread() == {}


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, BOUND),
        ({**V2, "/sys/fs/cgroup/user.slice/job_12/cpu.max": "max 100000\n"}, BOUND),
        ({**V2, "/sys/fs/cgroup/user.slice/job_12/cpu.max": "150000 100000\n"}, 1),
        ({**V2, "/sys/fs/cgroup/user.slice/cpu.max": "50000 100000\n"}, 1),
        (
            {
                **V1,
                "/sys/fs/cgroup/cpu/job_12/cpu.cfs_quota_us": "100000\n",
                "/sys/fs/cgroup/cpu/job_12/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
        (
            {
                **V1,
                "/sys/fs/cgroup/cpu/job_12/cpu.cfs_quota_us": "-1\n",
                "/sys/fs/cgroup/cpu/job_12/cpu.cfs_period_us": "100000\n",
            },
            BOUND,
        ),
    ],
)
def test_cores(files: dict[str, str], cores: int) -> None:
    assert cores_available(Answers("/", files=files)) == cores


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({**V2, "/sys/fs/cgroup/user.slice/job_12/memory.max": "max\n"}, None),
        (
            {
                **V2,
                "/sys/fs/cgroup/user.slice/job_12/memory.max": "8589934592\n",
                "/sys/fs/cgroup/user.slice/memory.max": "4294967296\n",
            },
            4 << 30,
        ),
        ({**V1, "/sys/fs/cgroup/memory/job_12/memory.limit_in_bytes": "9223372036854771712\n"}, None),
        ({**V1, "/sys/fs/cgroup/memory/job_12/memory.limit_in_bytes": "1073741824\n"}, 1 << 30),
    ],
)
def test_memory_limit(files: dict[str, str], limit: int | None) -> None:
    assert memory_limit(Answers("/", files=files)) == limit


def test_this_node_from_its_files() -> None:
    files = {
        "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7763\n",
        "/proc/meminfo": "MemTotal:       24684100 kB\nMemFree:        1000 kB\nMemAvailable:   20000000 kB\n",
        "/proc/loadavg": "2.49 2.09 2.10 5/109 22712\n",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    }
    told = {name: answer.value for name, answer in collect(Answers("/", files=files, hostnames=["a"])).items()}
    assert told["cpu_model"] == "AMD EPYC 7763"
    assert told["memory_bytes"] == 24684100 * 1024
    assert told["memory_available_bytes"] == 20000000 * 1024
    assert (told["load_average"], told["clock_source"], told["ranks"]) == (2.49, "tsc", 1)


def test_without_files_little_is_known() -> None:
    assert set(collect(Answers("/"))) == {"cpus", "cores_available", "cpu_model"}


def test_this_machine() -> None:
    told = collect(Context("/"))
    assert isinstance(told["memory_bytes"].value, int)
    assert 1 <= cores_available(Context("/")) <= BOUND
