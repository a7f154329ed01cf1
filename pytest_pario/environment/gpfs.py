"""GPFS (Spectrum Scale, Storage Scale): block and subblock, pools and disks, pagepool, versions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Json, Told
from pytest_pario.environment.mount import mount_of
from pytest_pario.environment.sizes import parse_bytes

#  -B                 4194304                  Block size
#                     8388608                  Block size (other pools)
_ROW = re.compile(r"^ (?P<flag>-\S+)? +(?P<value>\S+(?: \([^)]*\))?) {2,}(?P<remark>\S.*)$", re.MULTILINE)
# mmlsfs::0:1:::scratch:blockSize:4194304:other pools:
_FIELD = re.compile(r"^mmlsfs::0:1:::[^:]*:(?P<field>[^:]+):(?P<value>[^:]*):(?P<remark>[^:]*)", re.MULTILINE)
# Current GPFS build: "5.1.9.2 ".
_BUILD = re.compile(r'Current GPFS build: "\s*([^"]*?)\s*"')
#  ! pagepool 17179869184
# pagepool 4G
# pagepool 16G [gpu]
_PAGEPOOL = re.compile(r"^\s*!?\s*pagepool\s+(\d+\w*)(\s*\[.*\])?\s*$", re.MULTILINE)

_FLAGS = {"-B": "blockSize", "-f": "minFragmentSize", "-V": "filesystemVersion", "-r": "defaultDataReplicas"}


class Attribute(NamedTuple):
    """One attribute of the filesystem, by the name that `mmlsfs -Y` gives it."""

    name: str
    value: str
    remark: str


def collect(context: Context) -> dict[str, Told]:
    """Facts of a GPFS filesystem; nothing on any other."""
    mount = mount_of(context)
    if mount is None or mount.type != "gpfs":
        return {}
    device = PurePosixPath(mount.source).name
    told = _daemon(context)
    attributes, source = _attributes(context, device)
    for name, key in (("gpfs_subblock_bytes", "minFragmentSize"), ("gpfs_data_replicas", "defaultDataReplicas")):
        value = parse_bytes(_first(attributes, key))
        if value:
            told[name] = Told(value, source)
    if _first(attributes, "filesystemVersion"):
        told["gpfs_format"] = Told(_first(attributes, "filesystemVersion"), source)
    pools = data_pools(context.run("mmlsdisk", device, "-Y") or "")
    if pools:
        told["gpfs_pools"] = Told({**pools}, "mmlsdisk -Y")
    return told | _striping(attributes, source, pools)


def parse_table(text: str) -> list[Attribute]:
    """Attributes in the table that `mmlsfs` prints for people; a row without a flag continues the one above."""
    found, flag = [], ""
    for match in _ROW.finditer(text):
        flag = match["flag"] or flag
        if flag in _FLAGS:
            found.append(Attribute(_FLAGS[flag], match["value"], match["remark"].strip()))
    return found


def parse_fields(text: str) -> list[Attribute]:
    """Attributes that `mmlsfs -Y` prints; values are percent-encoded."""
    return [
        Attribute(match["field"], unquote(match["value"]), unquote(match["remark"])) for match in _FIELD.finditer(text)
    ]


def data_pools(text: str) -> dict[str, int]:
    """Number of disks in use of each pool that holds data, from `mmlsdisk -Y`."""
    # mmlsdisk::HEADER:version:reserved:reserved:nsdName:driverType:…:data:status:availability:diskID:storagePool:…
    # mmlsdisk::0:1:::nsd7:nsd:512:1:no:yes:ready:up:1:data:desc:3:2:2:…
    columns: list[str] = []
    pools: Counter[str] = Counter()
    for line in text.splitlines():
        cells = line.split(":")
        if cells[:1] != ["mmlsdisk"]:
            continue
        if cells[2:3] == ["HEADER"]:
            columns = cells
            continue
        row = dict(zip(columns, cells, strict=False))
        if (row.get("data", "").lower(), row.get("availability")) == ("yes", "up"):
            pools[row.get("storagePool", "")] += 1
    return dict(sorted(pools.items()))


def _striping(attributes: list[Attribute], source: str, pools: dict[str, int]) -> dict[str, Told]:
    told = {}
    sizes = {a.remark: parse_bytes(a.value) or 0 for a in attributes if a.name == "blockSize"}
    if len(pools) == 1 and len(sizes) > 1:
        # the system pool may have blocks of another size than the pools that hold data only
        wanted = "system" if "system" in pools else "other"
        sizes = {remark: size for remark, size in sizes.items() if wanted in remark}
    if len(set(sizes.values())) == 1 and all(sizes.values()):
        told["stripe_unit_bytes"] = Told(next(iter(sizes.values())), source)
    if len(pools) == 1:
        (pool, disks), *_ = pools.items()
        told["stripe_factor"] = Told(disks, "mmlsdisk -Y")
        told["stripe_pool"] = Told(pool, "mmlsdisk -Y")
    return told


def _attributes(context: Context, device: str) -> tuple[list[Attribute], str]:
    found = parse_fields(context.run("mmlsfs", device, "-Y") or "")
    if found:
        return found, "mmlsfs -Y"
    return parse_table(context.run("mmlsfs", device, "-f", "-B", "-V", "-r") or ""), "mmlsfs"


def _first(attributes: list[Attribute], name: str) -> str:
    return next((attribute.value for attribute in attributes if attribute.name == name), "")


def _daemon(context: Context) -> dict[str, Told]:
    told: dict[str, Told] = {}
    build = _BUILD.search(context.run("mmdiag", "--version") or "")
    if build:
        told["gpfs_version"] = Told(build[1], "mmdiag --version")
    # the daemon knows the value in force; the configuration may give several, each for a class of nodes
    for command in (("mmdiag", "--config"), ("mmlsconfig", "pagepool")):
        rows = _PAGEPOOL.findall(context.run(*command) or "")
        sizes: list[Json] = [parse_bytes(size) for size, _ in rows]
        if len(sizes) == 1 and sizes[0]:
            told["gpfs_pagepool_bytes"] = Told(sizes[0], " ".join(command))
            break
    return told
