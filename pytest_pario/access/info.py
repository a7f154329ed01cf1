"""Hints on their way to MPI: a mapping or an `MPI.Info`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_pario import mpi
from pytest_pario.errors import HintValueError, ParameterError

if TYPE_CHECKING:
    from mpi4py import MPI

    Hints = Mapping[str, str] | MPI.Info | None

COLLECTIVE_KEYS = frozenset(
    {
        "cb_block_size",
        "cb_buffer_size",
        "cb_config_list",
        "cb_nodes",
        "collective_buffering",
        "io_node_list",
        "nb_proc",
        "num_io_nodes",
        "romio_cb_read",
        "romio_cb_write",
        "romio_no_indep_rw",
        "striping_factor",
        "striping_unit",
    }
)
"""Hints that must be the same on all tasks (GPFS-51): those that the standard marks so, and ROMIO's of that kind."""


BUFFER = "cb_buffer_size"


def check_hints(hints: Hints, origin: str) -> None:
    """Refuse what cannot become an `MPI.Info`; the meaning of the hints is not looked at."""
    codes = mpi.load()
    if hints is None or isinstance(hints, codes.Info):
        return
    if not isinstance(hints, Mapping):
        raise ParameterError("info", hints, "a mapping, an MPI.Info or None", origin)
    for key, value in hints.items():
        _check_text("info key", key, codes.MAX_INFO_KEY, origin)
        _check_text(f"info value of {key}", value, codes.MAX_INFO_VAL, origin)


def check_growth(file: MPI.File, hints: Hints, origin: str) -> None:
    """Refuse a collective buffer that grows on an open file: ROMIO keeps that of open and writes past its end."""
    asked = dict(hints.items()).get(BUFFER) if hints else None
    if asked is None or not asked.isdigit():
        return
    info = file.Get_info()
    try:
        in_force = dict(info.items()).get(BUFFER, "")
    finally:
        info.Free()
    if in_force.isdigit() and int(asked) > int(in_force):
        allowed = f"at most the {in_force} B in force: ask for the largest one at open"
        raise HintValueError(f"hint {BUFFER} = {asked!r} (from {origin}): must be {allowed}")


def _check_text(name: str, text: object, limit: int, origin: str) -> None:
    if not isinstance(text, str) or not 0 < len(text.encode()) < limit or "\0" in text:
        raise ParameterError(name, text, f"a text of 1 to {limit - 1} bytes", origin)


@contextlib.contextmanager
def as_info(hints: Hints) -> Iterator[MPI.Info]:
    """Lend an `MPI.Info` with the hints for one call."""
    codes = mpi.load()
    if hints is None or isinstance(hints, codes.Info):
        yield codes.INFO_NULL if hints is None else hints
        return
    info = codes.Info.Create(dict(hints))
    try:
        yield info
    finally:
        info.Free()


def hints_in_force(directory: Path, hints: Hints) -> dict[str, str]:
    """What the library makes of hints for a new file in a directory; one is made for this, and is gone afterwards."""
    codes = mpi.load()
    path = directory / f".pario-hints-{os.getpid()}"
    amode = codes.MODE_CREATE | codes.MODE_EXCL | codes.MODE_RDWR | codes.MODE_DELETE_ON_CLOSE
    with as_info(hints) as asked:
        file = codes.File.Open(codes.COMM_SELF, str(path), amode, asked)
    try:
        info = file.Get_info()
        try:
            return dict(info.items())
        finally:
            info.Free()
    finally:
        file.Close()


def collective_hints(hints: Hints) -> list[tuple[str, str]]:
    """The hints that must agree, in a fixed order."""
    if hints is None or hints == mpi.load().INFO_NULL:
        return []
    return sorted((key, value) for key, value in hints.items() if key in COLLECTIVE_KEYS)
