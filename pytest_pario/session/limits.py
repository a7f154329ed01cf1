"""Limits of time that users set: how long MPI may take to start, and how long a phase of a test may take."""

from __future__ import annotations

import faulthandler
import math
from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.options import PROFILES, Options

T = TypeVar("T")

START_TIMEOUT = "PARIO_START_TIMEOUT"
START_S = 120.0
"""How long MPI may take to start before a rank is ended."""


def start_limit_s(environment: Mapping[str, str]) -> float:
    """The limit that the environment sets, or the default."""
    text = environment.get(START_TIMEOUT, "")
    if not text:
        return START_S
    seconds = _number(text)
    if seconds is None or seconds <= 0:
        raise ParameterError(START_TIMEOUT, text, "a positive number of seconds", "environment")
    return seconds


def within_start_limit(rank: int, limit_s: float, start: Callable[[], T]) -> T:
    """Call `start`, in which MPI is initialised; a process that does not come out of it in time is ended with status 1.

    mpi4py holds the interpreter lock while the library waits for the other ranks, so no thread of Python can end the
    process; faulthandler's can. It has no words but the stack, so the outermost frame is named after the reason.
    """
    reason = f"pario: rank {rank}: MPI has not started within {limit_s:g} s ({START_TIMEOUT}); see above who failed"

    def wait() -> T:
        return start()

    wait.__code__ = wait.__code__.replace(co_filename=reason)
    faulthandler.dump_traceback_later(limit_s, exit=True, file=2)
    try:
        return wait()
    finally:
        faulthandler.cancel_dump_traceback_later()


def phase_limit_s(item: pytest.Item, options: Options) -> float:
    """Limit of each phase of a test: its marker's for this profile or for any, else the session's; 0 is none."""
    marker = item.get_closest_marker("pario_timeout")
    if marker is None:
        return options.timeout_s
    given = [*marker.args, *marker.kwargs.values()]
    limits = [_seconds(one) for one in given]
    named = len(marker.args) <= 1 and marker.kwargs.keys() <= set(PROFILES)
    if not given or not named or None in limits:
        shown = ", ".join([*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())])
        told = f"must be one number of seconds, 0 or more, or one for each of {', '.join(PROFILES)}"
        raise pytest.UsageError(f"{item.nodeid}: pario_timeout({shown}) {told}")
    otherwise = marker.args[0] if marker.args else options.timeout_s
    return float(marker.kwargs.get(options.profile, otherwise))


def _seconds(given: object) -> float | None:
    value = None if isinstance(given, bool | str) else _number(given)
    return value if value is not None and value >= 0 else None


def _number(given: object) -> float | None:
    try:
        value = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None
