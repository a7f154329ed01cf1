"""Lustre: the layout that new files get, the targets, the version of the client."""

from __future__ import annotations

import dataclasses
import re

from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Json, Told
from pytest_pario.environment.lov import Component, parse_lov, pattern_name
from pytest_pario.environment.mount import Mount, mount_of

#       lmm_stripe_count:  4
# stripe_count:  4 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1 pool: flash
# (Default) stripe_count: 1 stripe_size: 1048576 stripe_offset: -1
_KEY = re.compile(r"(?<![\w.])(?:lmm_)?(stripe_count|stripe_size|pattern|pool):\s*([^\s,]+(?:,\w+)?)")
#     lcme_extent.e_end:   EOF
_EXTENT = re.compile(r"lcme_extent\.e_(start|end):\s*(\d+|EOF)")
#     lcme_id:             2
_COMPONENT = re.compile(r"^\s*lcme_id:", re.MULTILINE)
# 3: scratch-OST0003_UUID ACTIVE
_TARGET = re.compile(r"^\d+:\s+\S+_UUID\s+ACTIVE", re.MULTILINE)
# scratch-OST0003_UUID
_POOL_MEMBER = re.compile(r"^\S+-OST[0-9a-fA-F]+_UUID", re.MULTILINE)
# version=2.15.3 | lustre: 2.10.8 | lfs 2.12.5 | 2.15.3
_VERSION = re.compile(r"^(?:version=|lustre:\s*|lfs\s+)?(\d+\.\d+[\w.+~-]*)$", re.MULTILINE)

_VERSION_FILES = ("/sys/fs/lustre/version", "/proc/fs/lustre/version")


def collect(context: Context) -> dict[str, Told]:
    """Facts of a Lustre filesystem; nothing on any other."""
    mount = mount_of(context)
    if mount is None or mount.type != "lustre":
        return {}
    told = _version(context)
    listing = context.run("lfs", "osts", mount.point)
    targets = len(_TARGET.findall(listing or ""))
    if targets:
        told["lustre_osts"] = Told(targets, "lfs osts")
    components, source = _layout(context, mount)
    return told | describe_layout(components, source, _counted(context, mount, components, targets))


def describe_layout(components: list[Component], source: str, targets: int) -> dict[str, Told]:
    """Facts of a layout; unit and factor only where one component holds the whole file in plain stripes.

    `targets` is the number that a stripe count of -1 stands for, 0 where it is not known.
    """
    told = {}
    if len(components) > 1 or any(component.end is not None for component in components):
        rows: list[Json] = [dataclasses.asdict(component) for component in components]
        return {"stripe_components": Told(rows, source), "stripe_pattern": Told("composite", source)}
    for component in components:
        told["stripe_pattern"] = Told(component.pattern, source)
        told["stripe_pool"] = Told(component.pool, source)
        count = targets if component.count == -1 else component.count
        # a target may hold several stripes of an overstriped file: its count is not one of I/O nodes
        if component.pattern == "raid0" and component.unit > 0 and count > 0:
            told["stripe_unit_bytes"] = Told(component.unit, source)
            told["stripe_factor"] = Told(count, source)
    return told


def parse_getstripe(text: str) -> list[Component]:
    """Components that `lfs getstripe` lists, in its old, new and YAML forms."""
    head, *rest = _COMPONENT.split(text)
    found = [_component(part) for part in (rest or [head])]
    return [component for component in found if component is not None]


def _component(text: str) -> Component | None:
    keys: dict[str, str] = {}
    for key, value in _KEY.findall(text):
        keys.setdefault(key, value)
    try:
        count = int(keys["stripe_count"])
        unit = int(keys.get("stripe_size", "0"))
    except (KeyError, ValueError):
        return None
    extent = dict(_EXTENT.findall(text))
    end = extent.get("end", "EOF")
    start, pattern = int(extent.get("start", "0")), keys.get("pattern", "raid0")
    # versions before 2.11 print the pattern as a hexadecimal number
    name = pattern_name(int(pattern, 16)) if re.fullmatch(r"[0-9a-f]+", pattern) else pattern
    return Component(start, None if end == "EOF" else int(end), unit, count, name, keys.get("pool", ""))


def _layout(context: Context, mount: Mount) -> tuple[list[Component], str]:
    # a directory without a layout of its own may say 0, which stands for that of the root of the filesystem
    for place in dict.fromkeys((context.directory, mount.point)):
        for source, components in (
            ("lfs getstripe", parse_getstripe(context.run("lfs", "getstripe", "-d", place) or "")),
            ("lustre.lov", parse_lov(context.xattr(place, "lustre.lov") or b"")),
        ):
            if components and (len(components) > 1 or components[0].count or components[0].pattern == "mdt"):
                return components, source
    return [], ""


def _counted(context: Context, mount: Mount, components: list[Component], targets: int) -> int:
    if len(components) != 1 or components[0].count != -1 or not components[0].pool:
        return targets
    # source 10.1.1.1@o2ib:10.1.1.2@o2ib:/scratch is filesystem scratch
    name = mount.source.rpartition(":/")[2].partition("/")[0]
    listing = context.run("lfs", "pool_list", f"{name}.{components[0].pool}")
    return len(_POOL_MEMBER.findall(listing or ""))


def _version(context: Context) -> dict[str, Told]:
    for path in _VERSION_FILES:
        match = _VERSION.search(context.read(path) or "")
        if match:
            return {"lustre_version": Told(match[1], path)}
    for command in (("lctl", "get_param", "version"), ("lfs", "--version")):
        match = _VERSION.search(context.run(*command) or "")
        if match:
            return {"lustre_version": Told(match[1], " ".join(command))}
    return {}
