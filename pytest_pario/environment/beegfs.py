"""BeeGFS: stripe pattern of new files, and the version of the client."""

from __future__ import annotations

import re

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Told
from pytest_pario.environment.mount import mount_of
from pytest_pario.environment.sizes import parse_bytes

COMMANDS = (("beegfs-ctl", "--getentryinfo"), ("beegfs", "entry", "info", "--retro", "--verbose"))
"""Version 7 and before, version 8 and after."""
VERSION_FILE = "/sys/module/beegfs/version"

# + Type: RAID0
_TYPE = re.compile(r"^\s*\+ Type: (.+?)\s*$", re.MULTILINE)
# + Chunksize: 512K
_CHUNK = re.compile(r"^\s*\+ Chunksize: (\S+)", re.MULTILINE)
# + Number of storage targets: desired: 4; actual: 2
_TARGETS = re.compile(r"^\s*\+ Number of storage targets: desired: (\d+)(?:; actual: (\d+))?", re.MULTILINE)
# + Storage Pool: 1 (Default)
_POOL = re.compile(r"^\s*\+ Storage Pool: (\d+)", re.MULTILINE)


def collect(context: Context) -> dict[str, Told]:
    """Facts of a BeeGFS filesystem; nothing on any other."""
    mount = mount_of(context)
    if mount is None or mount.type not in ("beegfs", "fhgfs"):
        return {}
    told = {}
    version = (context.read(VERSION_FILE) or "").strip()
    if version:
        told["beegfs_version"] = Told(version, VERSION_FILE)
    for command in COMMANDS:
        found = parse_entry(context.run(*command, context.directory) or "", " ".join(command[:3]))
        if found:
            return told | found
    return told


def parse_entry(text: str, source: str) -> dict[str, Told]:
    """Facts in the entry information that both tools print."""
    told = {}
    kind, chunk, targets, pool = (pattern.search(text) for pattern in (_TYPE, _CHUNK, _TARGETS, _POOL))
    if kind:
        told["stripe_pattern"] = Told(kind[1], source)
    if chunk and parse_bytes(chunk[1]):
        told["stripe_unit_bytes"] = Told(parse_bytes(chunk[1]), source)
    if targets:
        # a file knows how many it got; a directory only how many its files shall get
        told["stripe_factor"] = Told(int(targets[2] or targets[1]), source)
    if pool:
        told["stripe_pool"] = Told(pool[1], source)
    return told
