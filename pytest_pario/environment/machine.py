"""The nodes of a run: processors, memory, ranks on each node, the clock."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Sequence

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Json, Told
from pytest_pario.units import KiB

CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
UNLIMITED = 1 << 60
"""The first version of control groups writes a number near 2^63 where there is no limit."""

# model name	: AMD EPYC 7763 64-Core Processor
_MODEL = re.compile(r"^(?:model name|cpu|Model)\s*:\s*(.+?)\s*$", re.MULTILINE)
# MemTotal:       24684100 kB
_MEMORY = re.compile(r"^(MemTotal|MemAvailable):\s+(\d+) kB$", re.MULTILINE)
# 0::/user.slice/job_12
# 4:memory:/job_12
_GROUP = re.compile(r"^\d+:(?P<controllers>[^:]*):(?P<path>/.*)$", re.MULTILINE)


def collect(context: Context) -> dict[str, Told]:
    """Facts of this node, and of how the ranks are spread over all nodes."""
    cores = cores_available(context)
    told = {
        "cpus": Told(os.cpu_count() or 1, "os.cpu_count"),
        "cores_available": Told(cores, "affinity and control group"),
    }
    model = _MODEL.search(context.read("/proc/cpuinfo") or "")
    told["cpu_model"] = Told(model[1], "/proc/cpuinfo") if model else Told(platform.machine(), "uname")
    names = {"MemTotal": "memory_bytes", "MemAvailable": "memory_available_bytes"}
    for key, size in _MEMORY.findall(context.read("/proc/meminfo") or ""):
        told[names[key]] = Told(int(size) * KiB, "/proc/meminfo")
    limit = memory_limit(context)
    if limit:
        told["memory_limit_bytes"] = Told(limit, "control group")
    clock = (context.read(CLOCK_SOURCE) or "").strip()
    if clock:
        told["clock_source"] = Told(clock, CLOCK_SOURCE)
    load = (context.read("/proc/loadavg") or "").split()
    if load:
        told["load_average"] = Told(float(load[0]), "/proc/loadavg")
    return told | describe_ranks(context.hostnames, cores)


def memory_available(context: Context) -> int | None:
    """Bytes that this node can still give, its control group's limit included; None where nobody tells."""
    found = dict(_MEMORY.findall(context.read("/proc/meminfo") or ""))
    told = [int(found["MemAvailable"]) * KiB] if "MemAvailable" in found else []
    limit = memory_limit(context)
    return min([*told, *([limit] if limit else [])], default=None)


def describe_ranks(hostnames: Sequence[str], cores: int) -> dict[str, Told]:
    """Facts that follow from one host name per rank; every node is taken to have as many cores as this one."""
    if not hostnames:
        return {}
    counts = sorted(Counter(hostnames).values(), reverse=True)
    shape: list[Json] = [*counts]
    source = "host names of the ranks"
    return {
        "ranks": Told(len(hostnames), source),
        "ranks_per_node": Told(counts[0] if counts[0] == counts[-1] else shape, source),
        "nodes": Told(len(counts), source),
        "hostnames": Told([*sorted(set(hostnames))], source),
        "oversubscribed": Told(counts[0] > cores, f"{source}, {cores} cores"),
    }


def cores_available(context: Context) -> int:
    """Processors that this process may use: those it is bound to, or fewer where its control group has a quota."""
    bound = len(os.sched_getaffinity(0))
    quotas = [quota for place in _groups(context, "cpu") if (quota := _quota(context, place))]
    # a quota of one and a half processors lets one rank run freely, not two
    return max(1, min([bound, *(int(quota) for quota in quotas)]))


def memory_limit(context: Context) -> int | None:
    """Bytes that the control groups of this process may use, page cache included; None for no limit."""
    limits = []
    for place in _groups(context, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = (context.read(f"{place}/{name}") or "").strip()
            if text.isdigit() and int(text) < UNLIMITED:
                limits.append(int(text))
    return min(limits, default=None)


def _quota(context: Context, place: str) -> float | None:
    # cpu.max: 150000 100000
    quota, _, period = (context.read(f"{place}/cpu.max") or "").strip().partition(" ")
    if not quota:
        quota = (context.read(f"{place}/cpu.cfs_quota_us") or "").strip()
        period = (context.read(f"{place}/cpu.cfs_period_us") or "").strip()
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _groups(context: Context, controller: str) -> list[str]:
    places = []
    for match in _GROUP.finditer(context.read("/proc/self/cgroup") or ""):
        names = match["controllers"].split(",")
        if names == [""] or controller in names:
            root = "/sys/fs/cgroup" if names == [""] else f"/sys/fs/cgroup/{controller}"
            # a limit of any group above holds as well
            parts = [part for part in match["path"].split("/") if part]
            places += ["/".join([root, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return places
