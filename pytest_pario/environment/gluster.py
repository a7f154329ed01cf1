"""GlusterFS: type of the volume, bricks, shards, options.

Shards go to bricks by a hash of their names and not in turn, so a volume has no stripe unit and factor (RES-01).
"""

from __future__ import annotations

import re

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Json, Told
from pytest_pario.environment.mount import mount_of
from pytest_pario.environment.sizes import parse_bytes
from pytest_pario.units import MiB

DEFAULT_SHARD = 64 * MiB
SHARD_ATTRIBUTE = "trusted.glusterfs.shard.block-size"

# glusterfs 10.3
_VERSION = re.compile(r"^glusterfs (\S+)", re.MULTILINE)
# Type: Distributed-Disperse
_TYPE = re.compile(r"^Type: (\S+)", re.MULTILINE)
# Number of Bricks: 2 x (2 + 1) = 6
# Number of Bricks: 4
_BRICKS = re.compile(r"^Number of Bricks: (?:.*= )?(\d+)\s*$", re.MULTILINE)
# features.shard-block-size: 64MB
_OPTION = re.compile(r"^([a-z][\w-]*(?:\.[\w.-]+)): (.*?)\s*$", re.MULTILINE)


def collect(context: Context) -> dict[str, Told]:
    """Facts of a GlusterFS volume; nothing on any other filesystem."""
    mount = mount_of(context)
    if mount is None or mount.type != "fuse.glusterfs":
        return {}
    told = {}
    version = _VERSION.search(context.run("glusterfs", "--version") or "")
    if version:
        told["gluster_version"] = Told(version[1], "glusterfs --version")
    # source server1:/volume or server1:/volume/directory
    volume = mount.source.rpartition(":")[2].strip("/").partition("/")[0]
    found = parse_volume(context.run("gluster", "--mode=script", "volume", "info", volume) or "") if volume else {}
    return told | (found or _by_attribute(context))


def parse_volume(text: str) -> dict[str, Told]:
    """Facts in `gluster volume info`."""
    source = "gluster volume info"
    kind, bricks = _TYPE.search(text), _BRICKS.search(text)
    if kind is None or bricks is None:
        return {}
    options: dict[str, Json] = {**dict(_OPTION.findall(text.partition("Options Reconfigured:")[2]))}
    shard = 0
    if str(options.get("features.shard", "off")).lower() in ("on", "enable", "yes", "true", "1"):
        shard = parse_bytes(str(options.get("features.shard-block-size", DEFAULT_SHARD))) or DEFAULT_SHARD
    return {
        "gluster_volume_type": Told(kind[1], source),
        "gluster_bricks": Told(int(bricks[1]), source),
        "gluster_shard_bytes": Told(shard, source),
        "gluster_options": Told(options, source),
    }


def _by_attribute(context: Context) -> dict[str, Told]:
    # clients hide this attribute, but some gateways and brick directories show it: 8 bytes, high byte first
    data = context.xattr(context.directory, SHARD_ATTRIBUTE)
    return (
        {"gluster_shard_bytes": Told(int.from_bytes(data, "big"), SHARD_ATTRIBUTE)} if data and len(data) == 8 else {}
    )
