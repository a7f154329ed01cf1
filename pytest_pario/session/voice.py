"""Root speaks; other ranks are silent and write no files."""

from __future__ import annotations

import atexit
import io
import os
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_pario.session.processes import remove

# options by which plugins write files or load what only root needs, and what switches each off, also where pytest.ini
# sets it
OUTPUT_OPTIONS: dict[str, object] = {
    "xmlpath": None,
    "log_file": os.devnull,
    "report_log": None,
    "htmlpath": None,
    "json_report": False,
    "benchmark_json": None,
    "benchmark_save": None,
    "benchmark_autosave": None,
    "benchmark_save_data": False,
    "benchmark_compare": [],
    "benchmark_compare_fail": None,
    "benchmark_histogram": [],
    "benchmark_cprofile_dump": [],
    "pastebin": None,
}

HELD_LIMIT = 64 << 10


class HeldStderr(io.TextIOBase):
    """What a silent rank says on stderr before it joins the session; shown only if it never does."""

    def __init__(self, rank: int) -> None:
        """Hold for `rank`."""
        self._rank, self._held, self._joined = rank, "", False

    def write(self, text: str) -> int:
        """Keep the text, up to a limit."""
        if not self._joined:
            self._held = (self._held + text)[:HELD_LIMIT]
        return len(text)

    def writable(self) -> bool:
        """A file for writing."""
        return True

    def release(self) -> None:
        """Say what was held; usage errors are the same on root, which prints them."""
        if self._held.strip() and not self._held.startswith("ERROR: "):
            text = "".join(f"[rank {self._rank}] {line}\n" for line in self._held.strip().splitlines())
            os.write(2, text.encode())

    def forget(self) -> None:
        """The rank joined: from now on its failures are reported by root."""
        self._held, self._joined = "", True


def silence(rank: int) -> None:
    """Send this rank's standard output nowhere and hold its stderr; C libraries and crashes keep file descriptor 2."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    held = HeldStderr(rank)
    sys.stderr = held
    atexit.register(held.release)


def capture_always(config: pytest.Config) -> None:
    """With -s, too: what a test prints on a silent rank is shown under its failure."""
    if config.known_args_namespace.capture == "no":
        config.known_args_namespace.capture = "fd"


def write_nothing(config: pytest.Config) -> None:
    """Switch off, on a rank that is not root, everything that writes files; call before other plugins configure."""
    for name, off in OUTPUT_OPTIONS.items():
        if hasattr(config.option, name):
            setattr(config.option, name, off)
    # a private directory: a shared --basetemp is removed and made anew by every process that uses it
    config.option.basetemp = Path(tempfile.gettempdir()) / f"pario-{os.getpid()}-{os.urandom(4).hex()}"


def remove_basetemp(config: pytest.Config) -> None:
    """Remove the private directory of a rank that is not root; pytest keeps the last three of root's only."""
    remove(Path(config.option.basetemp))


def forget_state(config: pytest.Config) -> None:
    """Unregister what reads or writes pytest's cache on a rank that is not root; root sends its selection."""
    for name in ("lfplugin", "nfplugin", "stepwiseplugin"):
        plugin = config.pluginmanager.get_plugin(name)
        if plugin is not None:
            config.pluginmanager.unregister(plugin)
    if isinstance(sys.stderr, HeldStderr):
        sys.stderr.forget()


def hush_mpi_summary(config: pytest.Config) -> None:
    """Leave out pytest-mpi's page of settings; the session's header names library and ranks in one line."""
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "MPIPlugin" and hasattr(plugin, "_is_testing_mpi"):
            plugin._is_testing_mpi = False
