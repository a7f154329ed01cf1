"""UNIX programs that carry out what a user does at a prompt: how to call them, and what they should leave (CONS-69).

An operation has one or more programs; the first is the default. Each is run with the C locale and bounded in time, and
its exit status and result are checked after the clock has stopped (CONS-70).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from pytest_pario.errors import ParameterError, VerificationError, WatchdogTimeout
from pytest_pario.workloads.consortium.aftermath import (
    archive_is_listed,
    archive_is_whole,
    large_is_copied,
    names_are_listed,
    nothing_is_left,
    sections_are_listed,
    sections_have_sizes,
    sizes_are_listed,
    tree_is_copied,
)
from pytest_pario.workloads.consortium.place import (
    Place,
    clear,
    copy_tree,
    drop_archive,
    make_archive,
    make_archive_and_folder,
    nothing,
)

NAMES = "{names}"
"""Stands for the paths of all files of the tree."""


@dataclass(frozen=True)
class Tool:
    """How one program carries out one operation."""

    operation: str
    program: str
    arguments: str
    """Separated by blanks, with names in brackets for the paths of a `Place`."""
    prepare: Callable[[Place], None]
    """Done before each repetition, untimed."""
    check: Callable[[str, Place, str], None]
    """Looks at the row's name, the place and the program's output, untimed."""

    def command(self, where: Place) -> list[str]:
        """The command line."""
        words: list[str] = []
        for word in self.arguments.split():
            paths = {"top": where.top, "large": where.large, "copy": where.copy, "archive": where.archive}
            names = [str(where.top / name) for name in where.tree.names] if word == NAMES else [word.format(**paths)]
            words.extend(names)
        return [self.program, *words]


# fmt: off
TOOLS = (
    Tool("copy-file",    "cp",    "{large} {copy}",                    clear,                   large_is_copied),
    Tool("copy-file",    "dd",    "if={large} of={copy} bs=1M",        clear,                   large_is_copied),
    Tool("copy-tree",    "cp",    "-R {top} {copy}",                   clear,                   tree_is_copied),
    Tool("copy-tree",    "rsync", "-r {top}/ {copy}",                  clear,                   tree_is_copied),
    Tool("list",         "ls",    "-1AR {top}",                        nothing,                 sections_are_listed),
    Tool("list",         "find",  "{top} -mindepth 1 -printf %P\\n",   nothing,                 names_are_listed),
    Tool("list-long",    "ls",    "-lAnR {top}",                       nothing,                 sections_have_sizes),
    Tool("stat",         "find",  "{top} -type f -printf %s\\t%P\\n",  nothing,                 sizes_are_listed),
    Tool("stat",         "stat",  "--printf=%s\\t%n\\n {names}",       nothing,                 sizes_are_listed),
    Tool("pack",         "tar",   "-cf {archive} -C {top} .",          drop_archive,            archive_is_whole),
    Tool("list-archive", "tar",   "-tf {archive}",                     make_archive,            archive_is_listed),
    Tool("unpack",       "tar",   "-xf {archive} -C {copy}",           make_archive_and_folder, tree_is_copied),
    Tool("remove",       "rm",    "-r {copy}",                         copy_tree,               nothing_is_left),
    Tool("remove",       "find",  "{copy} -delete",                    copy_tree,               nothing_is_left),
)
# fmt: on

OPERATIONS = tuple(dict.fromkeys(row.operation for row in TOOLS))
"""The operations, in the order of the table."""


def find_tool(operation: str, program: str = "default") -> Tool:
    """The row of an operation and a program; a miss lists what there is."""
    rows = [row for row in TOOLS if row.operation == operation]
    if not rows:
        raise ParameterError("operation", operation, "one of " + ", ".join(OPERATIONS))
    for row in rows:
        if program in ("default", row.program):
            return row
    known = ", ".join(row.program for row in rows)
    raise ParameterError("tool", program, f"one of default, {known} for {operation}")


def missing_tool(tool: Tool) -> str | None:
    """Say why the program cannot be run here, or None where it can."""
    if shutil.which(tool.program) is None:
        return f"{tool.operation}: no program {tool.program} on this host"
    return None


def run_tool(tool: Tool, where: Place, limit_s: float) -> str:
    """Run the program to its end and return what it printed; no more than `limit_s` seconds."""
    command = tool.command(where)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise WatchdogTimeout(f"{' '.join(command)} did not end within {limit_s:g} s and was killed") from error
    if done.returncode != 0:
        told = done.stderr.strip() or "nothing said"
        raise VerificationError(tool.operation, f"{' '.join(command)} ended with status {done.returncode}: {told}")
    return done.stdout
