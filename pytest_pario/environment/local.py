"""Local filesystems: geometry of ext4, XFS and tmpfs, and the block device below."""

from __future__ import annotations

import re

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Told
from pytest_pario.environment.mount import MOUNTINFO, Mount, mount_of
from pytest_pario.environment.sizes import parse_bytes
from pytest_pario.units import KiB

MEMORY = ("tmpfs", "ramfs")
"""Filesystems whose pages are their only copy: nothing can be evicted."""

# meta-data=/dev/sdb1              isize=512    agcount=4, agsize=61047662 blks
_GROUPS = re.compile(r"\bagcount=(\d+)")
# data     =                       bsize=4096   blocks=244190646, imaxpct=25
_BLOCK = re.compile(r"^data\b.*\bbsize=(\d+)", re.MULTILINE)
#          =                       sunit=64     swidth=512 blks
_STRIPE = re.compile(r"\bsunit=(\d+)\s+swidth=(\d+) blks")
# Filesystem features:      has_journal ext_attr resize_inode dir_index extent 64bit
_FEATURES = re.compile(r"^Filesystem features:\s+(.+?)\s*$", re.MULTILINE)
# Block size:               4096
_EXT_BLOCK = re.compile(r"^Block size:\s+(\d+)", re.MULTILINE)
# RAID stride:              16
_STRIDE = re.compile(r"^RAID stride:\s+(\d+)", re.MULTILINE)
# none [mq-deadline] kyber bfq
_SCHEDULER = re.compile(r"\[(\S+)\]")
# DEVNAME=vda
_NAME = re.compile(r"^DEVNAME=(\S+)", re.MULTILINE)


def collect(context: Context) -> dict[str, Told]:
    """Facts of a filesystem of this node: tmpfs, or one on a block device."""
    mount = mount_of(context)
    if mount is None:
        return {}
    if mount.type in MEMORY:
        return _memory(context, mount)
    number = mount.device if not mount.device.startswith("0:") else None
    if number is None and mount.source.startswith("/dev/"):
        # btrfs has a number of its own that belongs to no device
        number = context.device_number(mount.source)
    if number is None:
        return {}
    told = _device(context, f"/sys/dev/block/{number}")
    if mount.type == "xfs":
        told |= parse_xfs(context.run("xfs_info", mount.point) or "")
    if mount.type in ("ext2", "ext3", "ext4"):
        told |= parse_ext(context.run("tune2fs", "-l", mount.source) or "")
    return told


def parse_xfs(text: str) -> dict[str, Told]:
    """Facts in `xfs_info`; unit and width are counted in blocks there."""
    groups, block, stripe = _GROUPS.search(text), _BLOCK.search(text), _STRIPE.search(text)
    told = {"xfs_groups": Told(int(groups[1]), "xfs_info")} if groups else {}
    if block and stripe:
        told["xfs_stripe_unit_bytes"] = Told(int(stripe[1]) * int(block[1]), "xfs_info")
        told["xfs_stripe_width_bytes"] = Told(int(stripe[2]) * int(block[1]), "xfs_info")
    return told


def parse_ext(text: str) -> dict[str, Told]:
    """Facts in `tune2fs -l`."""
    features, block, stride = _FEATURES.search(text), _EXT_BLOCK.search(text), _STRIDE.search(text)
    told = {}
    if features:
        # needs_recovery is set while the filesystem is mounted and says nothing
        names = sorted(set(features[1].split()) - {"needs_recovery"})
        told["ext4_features"] = Told(" ".join(names), "tune2fs -l")
    if block:
        told["ext4_stride_bytes"] = Told(int(stride[1]) * int(block[1]) if stride else 0, "tune2fs -l")
    return told


def _memory(context: Context, mount: Mount) -> dict[str, Told]:
    size = parse_bytes(mount.option("size") or "")
    if size:
        return {"tmpfs_limit_bytes": Told(size, MOUNTINFO)}
    space = context.space(context.directory)
    total = space.f_blocks * space.f_frsize if space else 0
    return {"tmpfs_limit_bytes": Told(total, "statvfs")} if total else {}


def _device(context: Context, path: str) -> dict[str, Told]:
    told = {}
    name = _NAME.search(context.read(f"{path}/uevent") or "")
    if name:
        told["device_name"] = Told(name[1], f"{path}/uevent")
    # a partition has its queue and its model one directory further up
    for place in (path, f"{path}/.."):
        read_ahead = (context.read(f"{place}/queue/read_ahead_kb") or "").strip()
        if not read_ahead.isdigit():
            continue
        told["device_read_ahead_bytes"] = Told(int(read_ahead) * KiB, f"{path}/queue")
        rotational = (context.read(f"{place}/queue/rotational") or "").strip()
        if rotational in ("0", "1"):
            told["device_rotational"] = Told(rotational == "1", f"{path}/queue")
        scheduler = context.read(f"{place}/queue/scheduler") or ""
        chosen = _SCHEDULER.search(scheduler)
        if scheduler.strip():
            told["device_scheduler"] = Told(chosen[1] if chosen else scheduler.strip(), f"{path}/queue")
        model = (context.read(f"{place}/device/model") or context.read(f"{place}/dm/name") or "").strip()
        if model:
            told["device_model"] = Told(model, f"{path}/device")
        break
    return told
