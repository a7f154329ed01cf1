"""OrangeFS (PVFS2): the distribution of files."""

from __future__ import annotations

import re

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Told
from pytest_pario.environment.mount import mount_of

# dist_name = simple_stripe
_NAME = re.compile(r"^dist_name = (\S+)", re.MULTILINE)
# strip_size:65536
_STRIP = re.compile(r"\bstrip_size:(\d+)")
# Number of datafiles/servers = 4
_SERVERS = re.compile(r"^Number of datafiles/servers = (\d+)", re.MULTILINE)

PREFIX = "user.pvfs2."


def collect(context: Context) -> dict[str, Told]:
    """Facts of an OrangeFS filesystem; nothing on any other."""
    mount = mount_of(context)
    if mount is None or mount.type not in ("pvfs2", "orangefs", "fuse.pvfs2fuse"):
        return {}
    # a file shows the distribution it has, a directory the one that was set for new files
    return _by_tool(context) or _by_attributes(context)


def _by_tool(context: Context) -> dict[str, Told]:
    text = context.run("pvfs2-viewdist", "-f", context.directory) or ""
    name, strip, servers = (pattern.search(text) for pattern in (_NAME, _STRIP, _SERVERS))
    return describe_distribution(
        name[1] if name else "", strip[1] if strip else "", servers[1] if servers else "", "pvfs2-viewdist"
    )


def _by_attributes(context: Context) -> dict[str, Told]:
    name, parameters, files = (
        (context.xattr(context.directory, PREFIX + key) or b"").rstrip(b"\0").decode("ascii", "replace").strip()
        for key in ("dist_name", "dist_params", "num_dfiles")
    )
    strip = _STRIP.search(parameters)
    return describe_distribution(name, strip[1] if strip else "", files, PREFIX + "*")


def describe_distribution(name: str, strip: str, servers: str, source: str) -> dict[str, Told]:
    """Facts of a distribution; only simple_stripe goes round the servers with strips of one size."""
    told = {}
    if name:
        told["orangefs_distribution"] = Told(name, source)
        told["stripe_pattern"] = Told(name, source)
    if name == "simple_stripe" and strip.isdigit() and int(strip):
        told["stripe_unit_bytes"] = Told(int(strip), source)
    if name == "simple_stripe" and servers.isdigit() and int(servers):
        told["stripe_factor"] = Told(int(servers), source)
    return told
