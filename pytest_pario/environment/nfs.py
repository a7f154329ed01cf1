"""NFS: protocol, sizes of requests, and the options on which the meaning of a write depends."""

from __future__ import annotations

import re

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Told
from pytest_pario.environment.mount import MOUNTINFO, Mount, mount_of

# /mnt/shared from serverb:/srv/shared
#  Flags:	rw,relatime,vers=4.2,rsize=131072,wsize=131072,namlen=255,hard,proto=tcp,timeo=600,…
_ENTRY = re.compile(r"^(?P<point>\S.*) from \S.*\n\s*Flags:\s*(?P<options>\S+)", re.MULTILINE)


# the kernel shows actimeo=0 as these four
_TIMES = ("acregmin", "acregmax", "acdirmin", "acdirmax")


def collect(context: Context) -> dict[str, Told]:
    """Facts of an NFS mount; nothing on any other filesystem."""
    mount = mount_of(context)
    if mount is None or mount.type not in ("nfs", "nfs4"):
        return {}
    options, source = parse_options(",".join((*mount.superblock, *mount.options))), MOUNTINFO
    if "vers" not in options:
        listed = _by_nfsstat(context, mount)
        options, source = (listed, "nfsstat -m") if listed else (options, source)
    return {name: Told(value, source) for name, value in describe_options(options, mount.type).items()}


def parse_options(text: str) -> dict[str, str]:
    """Options by name; a bare word has an empty value."""
    return {key: value for key, _, value in (option.partition("=") for option in text.split(","))}


def describe_options(options: dict[str, str], kind: str) -> dict[str, str | int | bool]:
    """Facts that follow from the options in force."""
    found: dict[str, str | int | bool] = {
        "nfs_sync": "sync" in options,
        "nfs_attribute_cache": not _asks_every_time(options),
        # nolock and local_lock=all or posix keep fcntl locks on this node
        "nfs_locks": "local" if "nolock" in options or options.get("local_lock") in ("all", "posix") else "server",
        "nfs_connections": int(options.get("nconnect", "1")) if options.get("nconnect", "1").isdigit() else 1,
    }
    version = options.get("vers") or options.get("nfsvers") or ("4" if kind == "nfs4" else "")
    if version:
        # before Linux 3.4 the minor version is an option of its own
        minor = options.get("minorversion")
        found["nfs_version"] = f"{version}.{minor}" if minor and "." not in version else version
    for name, key in (("nfs_read_bytes", "rsize"), ("nfs_write_bytes", "wsize")):
        if options.get(key, "").isdigit():
            found[name] = int(options[key])
    if options.get("proto"):
        found["nfs_transport"] = options["proto"]
    return found


def _asks_every_time(options: dict[str, str]) -> bool:
    return "noac" in options or options.get("actimeo") == "0" or all(options.get(name) == "0" for name in _TIMES)


def _by_nfsstat(context: Context, mount: Mount) -> dict[str, str]:
    for match in _ENTRY.finditer(context.run("nfsstat", "-m") or ""):
        if match["point"] == mount.point:
            return parse_options(match["options"])
    return {}
