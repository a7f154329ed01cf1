"""Nights of a machine: `baselines/<machine>/<time>-<id>.json`, append-only, each file whole or not there at all.

A night is pytest-benchmark's JSON, so `pytest-benchmark list` and `compare` read it, with a section of ours:
    pario   schema, machine, night (ISO time, UTC), digest (SHA-256 of the file with zeros in the digest's place),
            failures (of each test that failed: fullname, kind, sentence)
An acceptance is a file `<time>-<id>.accept` beside the nights: series, since, reason, and the same section.
Schema 1 is the first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from pytest_pario.baseline.rules import DEFAULT, Rules
from pytest_pario.baseline.series import Sample, read_entry, strip_pass
from pytest_pario.baseline.site import RULES_FILE, read_rules
from pytest_pario.errors import ParameterError, StoreError

SCHEMA = 1
MACHINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
DIGEST = re.compile(rb'("digest": ")[0-9a-f]{64}')
BLANK = "0" * 64
STAMP = "%Y%m%d-%H%M%S"
STAMPED = re.compile(r"\d{8}-\d{6}-[0-9a-f]+\.json$")


@dataclass(frozen=True)
class Failure:
    """A test of a night that failed, whatever it had measured."""

    fullname: str
    kind: Literal["damaged", "failed"]
    """Wrong bytes, or anything else."""
    sentence: str


@dataclass(frozen=True)
class Night:
    """One file of the store."""

    path: Path
    time: str
    """ISO time, UTC; nights are ordered by it."""
    samples: tuple[Sample, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def date(self) -> str:
        """How a sentence names the night."""
        return self.time[:10]

    @property
    def name(self) -> str:
        """How the operator names it: the file's name without its end."""
        return self.path.stem


@dataclass(frozen=True)
class Acceptance:
    """An operator's word that a level is the new normal."""

    series: str
    """Text of the series' identity."""
    since: str
    """ISO time of the first night at the new level."""
    reason: str
    time: str = ""

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ParameterError("--reason", self.reason, "a text that says why", "command line")


@dataclass(frozen=True)
class Shelf:
    """All that could be read of a machine, and what could not."""

    machine: str
    nights: tuple[Night, ...]
    acceptances: tuple[Acceptance, ...]
    refused: tuple[str, ...]
    """One sentence per file that was refused; the others are still judged."""
    unread: str = ""
    """The sentence of a refused night that is newer than all others."""
    rules: Rules = DEFAULT
    site_rules: tuple[str, ...] = ()
    """What the site's rules say otherwise, one sentence each."""


class Store:
    """The directory of one machine."""

    def __init__(self, root: Path, machine: str, option: str = "--pario-machine") -> None:
        """The name is the operator's, never derived from the hardware: an upgrade must not begin a new history."""
        if not MACHINE.fullmatch(machine):
            raise ParameterError(option, machine, "letters, digits and . _ - only", "command line")
        self.root, self.machine, self.directory = root, machine, root / machine

    def try_to_write(self) -> None:
        """Make the directory and a file in it: better told now than after hours of measuring."""
        aside = self.directory / f".{secrets.token_hex(8)}.part"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            aside.touch()
            aside.unlink()
        except OSError as error:
            raise StoreError(f"cannot save nights in {self.directory}: {error.strerror}") from error

    def save_night(
        self, content: Mapping[str, Any], now: datetime | None = None, failures: Sequence[Failure] = ()
    ) -> Path:
        """Add a night; returns its file."""
        return self._add(dict(content), now, "json", failures=[dataclasses.asdict(one) for one in failures])

    def save_acceptance(self, acceptance: Acceptance, now: datetime | None = None) -> Path:
        """Add an acceptance."""
        content = {"series": acceptance.series, "since": acceptance.since, "reason": acceptance.reason}
        return self._add(content, now, "accept")

    def read(self) -> Shelf:
        """Everything in order of time; files that cannot be trusted are named and left out."""
        nights, acceptances, refused = [], [], {}
        rules, site_rules = read_rules(self.directory / RULES_FILE)
        for path in sorted(self.directory.glob("*")) if self.directory.is_dir() else []:
            if path.suffix not in (".json", ".accept") or path.name.startswith("."):
                continue
            try:
                content, time = _read_checked(path, self.machine)
                if path.suffix == ".accept":
                    acceptances.append(Acceptance(content["series"], content["since"], content["reason"], time))
                else:
                    samples = tuple(one for entry in content["benchmarks"] if (one := read_entry(entry)) is not None)
                    failures = tuple(Failure(**one) for one in content["pario"].get("failures", ()))
                    nights.append(Night(path, time, samples, failures))
            except StoreError as error:
                refused[path] = str(error)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                refused[path] = f"{path}: not a night of this store: {type(error).__name__}: {error}"
        nights.sort(key=lambda night: (night.time, night.name))
        newest = max((night.name for night in nights), default="")
        unread = [told for path, told in refused.items() if STAMPED.match(path.name) and path.stem > newest]
        told = tuple(refused.values())
        return Shelf(
            self.machine, tuple(nights), tuple(acceptances), told, unread[-1] if unread else "", rules, site_rules
        )

    def _add(self, content: dict[str, Any], now: datetime | None, suffix: str, **more: Any) -> Path:
        now = now or datetime.now(timezone.utc)
        ours = {"schema": SCHEMA, "machine": self.machine, "night": now.isoformat(timespec="seconds"), "digest": BLANK}
        ours |= {key: value for key, value in more.items() if value}
        content = {"pario": ours} | {key: value for key, value in content.items() if key != "pario"}
        text = seal(json.dumps(content, default=str, indent=1).encode())
        name = f"{now.strftime(STAMP)}-{secrets.token_hex(4)}.{suffix}"
        # whole or not at all: written aside, on disk, then given its name, which nobody else can have taken
        aside = self.directory / f".{name}.part"
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with aside.open("xb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            aside.rename(self.directory / name)
            _sync_directory(self.directory)
        except OSError as error:
            raise StoreError(f"cannot save {self.directory / name}: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
        return self.directory / name


def machines(root: Path) -> list[str]:
    """Names of the machines that have nights."""
    return sorted({path.parent.name for path in root.glob("*/*.json") if MACHINE.fullmatch(path.parent.name)})


def choose_machine(root: Path, given: str | None, option: str = "--pario-machine") -> str:
    """The operator's word, or the only machine there is."""
    if given:
        return given
    known = machines(root)
    if len(known) == 1:
        return known[0]
    told = ", ".join(known) or "none yet"
    raise ParameterError(option, None, f"the name of a machine below {root} ({told})", "command line")


def seal(text: bytes) -> bytes:
    """Put the digest of a text into it; one that is there already is replaced."""
    blank = DIGEST.sub(rb"\g<1>" + BLANK.encode(), text, count=1)
    return DIGEST.sub(rb"\g<1>" + hashlib.sha256(blank).hexdigest().encode(), blank, count=1)


def _read_checked(path: Path, machine: str) -> tuple[dict[str, Any], str]:
    try:
        text = path.read_bytes()
        content = json.loads(text)
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise StoreError(f"{path}: nested too deep for a night; remove it or restore it from a copy") from error
    except ValueError as error:
        raise StoreError(f"{path}: truncated or not JSON ({error}); remove it or restore it from a copy") from error
    ours = content.get("pario") if isinstance(content, dict) else None
    if not isinstance(ours, dict) or "schema" not in ours:
        raise StoreError(f"{path}: was not saved by pario (no section 'pario'); nights are added by --pario-save")
    if ours["schema"] != SCHEMA:
        raise StoreError(
            f"{path}: has schema {ours['schema']!r}, this release reads {SCHEMA}; use the release that wrote it"
        )
    if ours.get("machine") != machine:
        raise StoreError(f"{path}: belongs to machine {ours.get('machine')!r}, not to {machine!r}")
    if (
        not DIGEST.search(text) or seal(text) != text
    ):  # of the bytes: to write everything anew took longer than to read it
        raise StoreError(f"{path}: was changed after it was saved (its digest differs); restore it from a copy")
    return content, str(ours["night"])


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def merge_entries(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One benchmark per test and night: samples of several passes one after the other, repeated ones beside them."""
    merged: dict[str, dict[str, Any]] = {}
    for entry in entries:
        name = strip_pass(str(entry["fullname"]))
        info = entry["extra_info"]
        kept = merged.get(name)
        if kept is None:
            merged[name] = {
                **entry,
                "fullname": name,
                "name": name.rsplit("::", 1)[-1],
                "stats": dict(entry["stats"]),
                "extra_info": dict(info),
            }
        elif info.get("again"):
            more = {"again_s": entry["stats"]["data"], "again_bytes": info.get("moved_bytes", ())}
            for key, values in more.items():
                kept["extra_info"][key] = [*kept["extra_info"].get(key, ()), *values]
        else:
            kept["stats"] = {**kept["stats"], **_stats([*kept["stats"]["data"], *entry["stats"]["data"]])}
            _append(kept["extra_info"], info)
    return list(merged.values())


def _append(kept: dict[str, Any], info: Mapping[str, Any]) -> None:
    """Bytes and warm-ups of a later pass behind those of the first."""
    for key in ("moved_bytes", "warmup_seconds"):
        if info.get(key):
            kept[key] = [*kept.get(key, ()), *info[key]]
    warm = ((info.get("record") or {}).get("facts") or {}).get("warmup_s")
    if warm and kept.get("record"):
        facts = dict(kept["record"].get("facts") or {})
        kept["record"] = {**kept["record"], "facts": {**facts, "warmup_s": [*facts.get("warmup_s", ()), *warm]}}


def _stats(data: list[float]) -> dict[str, Any]:
    ordered, count = sorted(data), len(data)
    mean = sum(data) / count
    deviation = (sum((one - mean) ** 2 for one in data) / (count - 1)) ** 0.5 if count > 1 else 0.0

    def at(part: float) -> float:
        place = part * (count - 1)
        low = int(place)
        return ordered[low] + (ordered[min(low + 1, count - 1)] - ordered[low]) * (place - low)

    q1, q3 = at(0.25), at(0.75)
    return {
        "data": data,
        "rounds": count,
        "min": ordered[0],
        "max": ordered[-1],
        "mean": mean,
        "stddev": deviation,
        "median": at(0.5),
        "q1": q1,
        "q3": q3,
        "iqr": q3 - q1,
        "total": sum(data),
        "ops": 1 / mean if mean else 0.0,
    }
