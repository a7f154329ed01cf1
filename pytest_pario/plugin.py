"""Entry point of the pytest plugin: options, markers, and the start of a ranked session where there is one.

Imports here are light: neither numpy nor mpi4py is loaded before a session needs them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Any

import pytest

from pytest_pario import hookspecs
from pytest_pario.errors import ParioError, SessionError
from pytest_pario.options import TABLE, Options
from pytest_pario.session import voice
from pytest_pario.session.keys import OPTIONS, SESSION, WITHOUT_MPI
from pytest_pario.session.launch import detect_launch

pytest_plugins = (
    "pytest_pario.fixtures.communicators",
    "pytest_pario.fixtures.bandwidth",
    "pytest_pario.fixtures.scratch",
    "pytest_pario.fixtures.parameters",
    "pytest_pario.fixtures.runner",
    "pytest_pario.fixtures.operations",
    "pytest_pario.fixtures.beffio",
    "pytest_pario.fixtures.strategies",
    "pytest_pario.fixtures.btio",
    "pytest_pario.fixtures.gpfs",
    "pytest_pario.fixtures.passes",
)

MARKERS = (
    "pario_ranks(n): run the test on ranks 0..n-1 only; the others wait without using a core",
    "pario_timeout(seconds, full=seconds): limit of each phase of this test under MPI, or that of a profile",
    "pario_once: needs what the test before it left behind; never measured again by itself",
)

UNMARKED_REASON = "need --with-mpi option to run"
"""What pytest-mpi says of an MPI test without --with-mpi."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the options of `pytest_pario.options.TABLE`; first of all silence every rank but root."""
    launch = detect_launch(os.environ)
    if launch and launch.rank > 0:
        voice.silence(launch.rank)
    group = parser.getgroup("pario", "parallel I/O under MPI")
    for spec in TABLE:
        more: dict[str, Any] = (
            {} if spec.action == "store_true" else {"type": _usage(spec.parse), "metavar": spec.metavar}
        )
        default = list(spec.default) if spec.action == "append" else spec.default
        group.addoption(spec.flag, action=spec.action, default=default, help=spec.help, **more)


def _usage(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Turn our parameter errors into argparse's."""

    def wrapped(text: str) -> Any:
        try:
            return parse(text)
        except ParioError as error:
            raise pytest.UsageError(str(error)) from error

    return wrapped


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Offer the hooks that sites may implement."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Choose the capture of silent ranks before it starts."""
    launch = detect_launch(os.environ)
    if launch and launch.rank > 0:
        voice.capture_always(early_config)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register markers, read options, and form the session of all ranks."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        config.stash[OPTIONS] = Options.from_values(vars(config.option))
        if _wants_session(config):
            from pytest_pario.session.start import start_session

            start_session(config)
        if SESSION in config.stash:
            from pytest_pario.session.nightly import join_nightly

            join_nightly(config)
        else:
            _refuse_nights(config)
    except ParioError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_sessionstart(session: pytest.Session) -> None:
    """Replace pytest-mpi's page about the library by our header, also where there is no library to ask."""
    voice.hush_mpi_summary(session.config)


def _refuse_nights(config: pytest.Config) -> None:
    """A nightly job that lost its launcher must not look green: nights are those of a session of ranks."""
    options = config.stash[OPTIONS]
    asked = {"--pario-save": options.save, "--pario-check": options.check, "--pario-machine": options.machine}
    given = next((name for name, value in asked.items() if value), None)
    if given is None or _only_tells(config) or config.option.collectonly:
        return
    why = config.stash.get(WITHOUT_MPI, None) or "without --with-mpi or a launcher nothing is measured"
    raise SessionError(f"{given}: {why}; run `mpiexec -n N python -m pytest --with-mpi …` or `pario run -n N …`")


def _only_tells(config: pytest.Config) -> bool:
    return bool(getattr(config.option, "help", False) or getattr(config.option, "version", 0))


def _wants_session(config: pytest.Config) -> bool:
    if _only_tells(config):
        return False
    asked = config.getoption("with_mpi", False) or config.getoption("only_mpi", False)
    return bool(asked or detect_launch(os.environ))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip MPI tests with the reason where MPI was asked for but cannot be had."""
    reason = item.config.stash.get(WITHOUT_MPI, None)
    if reason and SESSION not in item.config.stash and item.get_closest_marker("mpi"):
        pytest.skip(reason)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests that lie in a folder named `mpi` but are not marked so: pytest-mpi goes by any keyword of that name."""
    for item in items:
        if item.get_closest_marker("mpi") is None:
            item.own_markers[:] = [mark for mark in item.own_markers if mark.kwargs.get("reason") != UNMARKED_REASON]
