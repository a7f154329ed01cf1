"""The mount that a directory is on: type, source, options, sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Told

MOUNTINFO = "/proc/self/mountinfo"

# 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
_LINE = re.compile(
    r"(?P<id>\d+) \d+ (?P<device>\d+:\d+) (?P<root>\S+) (?P<point>\S+) (?P<options>\S+)(?: \S+)*? "
    r"- (?P<type>\S+) (?P<source>\S*) (?P<superblock>\S*)"
)
# space, tab, newline, backslash and # are written as \040 \011 \012 \134 \043
_ESCAPE = re.compile(r"\\([0-7]{3})")

_NOT_SETTINGS = frozenset(
    {"addr", "clientaddr", "mountaddr", "fd", "pgrp", "pipe_ino", "user_id", "group_id", "rootmode"}
    | {"lowerdir", "upperdir", "workdir"}
)
"""Options that name a client, a server's address or a container's own directories: they differ without a change."""

_MAGIC = {
    0x0BD00BD0: "lustre",
    0x47504653: "gpfs",
    0x19830326: "beegfs",
    0x20030528: "pvfs2",
    0x65735546: "fuse",
    0x6969: "nfs",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
    0xEF53: "ext4",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x2FC12FC1: "zfs",
    0x794C7630: "overlay",
    0x00C36400: "ceph",
}


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo, with its escapes undone."""

    id: int
    device: str
    """Major and minor number, as `8:1`; the major number is 0 where no block device is behind it."""
    root: str
    """Directory inside the filesystem that is mounted; not `/` for a bind mount or a subvolume."""
    point: str
    options: tuple[str, ...]
    type: str
    source: str
    superblock: tuple[str, ...]

    def option(self, name: str) -> str | None:
        """Value of an option `name=value`, empty for a bare `name`, None where it is not set."""
        for option in (*self.superblock, *self.options):
            key, _, value = option.partition("=")
            if key == name:
                return value
        return None


def parse_mounts(text: str) -> list[Mount]:
    """All mounts of a mountinfo file, in its order; lines of another shape are left out."""
    mounts = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line.rstrip())
        if match:
            root, point, source = (unescape(match[key]) for key in ("root", "point", "source"))
            options, superblock = (tuple(unescape(match[key]).split(",")) for key in ("options", "superblock"))
            number = int(match["id"])
            mounts.append(Mount(number, match["device"], root, point, options, match["type"], source, superblock))
    return mounts


def unescape(text: str) -> str:
    r"""Undo the octal escapes of mountinfo: `\040` is a space."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def mount_of(context: Context) -> Mount | None:
    """The mount that the directory is on; None where the kernel does not tell."""
    mounts = parse_mounts(context.read(MOUNTINFO) or "")
    number = context.mount_id(context.directory)
    exact = [mount for mount in mounts if mount.id == number]
    return exact[0] if exact else longest_match(mounts, context.directory)


def longest_match(mounts: list[Mount], directory: str) -> Mount | None:
    """The mount with the longest mount point above the directory; the last of several at one place hides the others."""
    above = [mount for mount in mounts if f"{directory}/".startswith(f"{mount.point.rstrip('/')}/")]
    # autofs stays in the list at the same place as what it has mounted
    ranked = sorted(above, key=lambda mount: (len(mount.point), mount.type != "autofs"))
    return ranked[-1] if ranked else None


def type_of(context: Context) -> str | None:
    """Type of the filesystem, from mountinfo or else from the magic number of statfs."""
    mount = mount_of(context)
    return mount.type if mount else _MAGIC.get(context.magic(context.directory) or 0)


def collect(context: Context) -> dict[str, Told]:
    """Facts of the mount and of the space on it."""
    told = {"directory": Told(context.directory, "realpath")}
    mount = mount_of(context)
    kind = type_of(context)
    if kind:
        told["filesystem_type"] = Told(kind, MOUNTINFO if mount else "statfs")
    if mount:
        told |= {
            "filesystem_source": Told(mount.source, MOUNTINFO),
            "filesystem_options": Told(list(_settings(mount.superblock)), MOUNTINFO),
            "mount_point": Told(mount.point, MOUNTINFO),
            "mount_root": Told(mount.root, MOUNTINFO),
            "mount_options": Told(list(_settings(mount.options)), MOUNTINFO),
        }
    return told | _space(context)


def _settings(options: tuple[str, ...]) -> list[str]:
    return sorted({option for option in options if option and option.partition("=")[0] not in _NOT_SETTINGS})


def _space(context: Context) -> dict[str, Told]:
    told = {}
    magic = context.magic(context.directory)
    if magic is not None:
        told["filesystem_magic"] = Told(f"0x{magic:x}", "statfs")
    preferred = context.preferred_bytes(context.directory)
    if preferred:
        told["preferred_io_bytes"] = Told(preferred, "stat")
    space = context.space(context.directory)
    if space:
        told |= {
            "block_bytes": Told(space.f_bsize, "statvfs"),
            "total_bytes": Told(space.f_blocks * space.f_frsize, "statvfs"),
            "free_bytes": Told(space.f_bavail * space.f_frsize, "statvfs"),
            "total_inodes": Told(space.f_files, "statvfs"),
            "free_inodes": Told(space.f_favail, "statvfs"),
        }
    return told
