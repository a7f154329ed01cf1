"""What all tests need of their surroundings; jobs that they start inherit it."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# No test asserts a duration: a machine that stalls for a moment is no failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Most jobs have more ranks than this machine has cores: with this, ranks of MPICH that wait leave theirs.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")

UNUSED = ("hypothesispytest", "xdist", "xdist.looponfail")
"""Plugins that no job needs; at the end of every session the first imports all of hypothesis, half a second a rank."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep unused plugins out of jobs, but not out of workers that this process is about to start."""
    if getattr(config.option, "numprocesses", None):
        return
    # jobs of a worker are no workers themselves, which pytest-benchmark would take them for
    for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
        del os.environ[name]
    given = os.environ.get("PYTEST_ADDOPTS", "")
    os.environ["PYTEST_ADDOPTS"] = " ".join([given, *(f"-p no:{name}" for name in UNUSED)]).strip()
