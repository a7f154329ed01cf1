"""Who is where: Python stacks of all ranks, grouped into sentences. Pure, but for `main_thread_stack`."""

from __future__ import annotations

import linecache
import sys
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_pario.session.ranks import name_ranks

Stack = list[tuple[str, int, str, str]]
"""Innermost entry last: (file, line, function, source line)."""

LIBRARY = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")})
OWN = str(Path(__file__).resolve().parent.parent)


def main_thread_stack() -> Stack:
    """Stack of the main thread, taken by another thread while the main thread runs or is stuck."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    stack: Stack = []
    while frame is not None:
        path, line = frame.f_code.co_filename, frame.f_lineno
        stack.append((path, line, frame.f_code.co_name, linecache.getline(path, line).strip()))
        frame = frame.f_back
    return stack[::-1]


@dataclass(frozen=True)
class Place:
    """Where a rank is, as told in one line."""

    what: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.what} at {self.file}:{self.line}"


def locate(stack: Sequence[Sequence[object]]) -> Place | None:
    """Innermost line of the user's own code, named by the call it makes (`Barrier`, `Write_at_all`, `sleep`)."""
    entries = [(str(file), int(str(line)), str(function), str(source)) for file, line, function, source in stack]
    own = [entry for entry in entries if not entry[0].startswith((*LIBRARY, OWN, "<frozen"))]
    if not own:
        return Place("harness", Path(entries[-1][0]).name, entries[-1][1]) if entries else None
    file, line, function, source = own[-1]
    body = "test body" if function.startswith("test") else "module body" if function == "<module>" else f"{function}()"
    what = _call_in(source) or body
    return Place(what, _shorten(file), line)


def describe(places: Mapping[int, Place | str], waiting: Sequence[int] = ()) -> str:
    """`ranks 0,1,3 in Barrier at file:line; rank 2 in test body at file:line`, equal places told once."""
    groups: dict[str, list[int]] = {}
    for rank in sorted(places):
        groups.setdefault(str(places[rank]), []).append(rank)
    told = [f"{name_ranks(ranks)} in {where}" for where, ranks in groups.items()]
    if waiting:
        told.append(f"{name_ranks(waiting)} finished this phase and waiting for the others")
    return "; ".join(told)


def format_stacks(stacks: Mapping[int, Sequence[Sequence[object]]]) -> str:
    """Each distinct stack once, headed by its ranks, as Python prints stacks."""
    groups: dict[str, list[int]] = {}
    for rank in sorted(stacks):
        groups.setdefault(_format(stacks[rank]), []).append(rank)
    return "\n".join(f"{name_ranks(ranks)}:\n{text}" for text, ranks in groups.items())


def _format(stack: Sequence[Sequence[object]], keep: int = 12) -> str:
    """The innermost entries from the user's code on; frames of pytest above it say nothing."""
    own = [number for number, entry in enumerate(stack) if not str(entry[0]).startswith((*LIBRARY, OWN, "<frozen"))]
    shown = stack[own[0] :] if own else stack
    return "\n".join(
        f'  File "{file}", line {line}, in {function}\n    {source}' for file, line, function, source in shown[-keep:]
    )


def _call_in(source: str) -> str | None:
    """Name of the method that a source line calls, where it is one that can block for others."""
    for part in reversed(source.split("(")[:-1]):
        name = part.strip().split(".")[-1].split(" ")[-1]
        if name.isidentifier() and ("." in part):
            return name
    return None


def _shorten(file: str) -> str:
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
