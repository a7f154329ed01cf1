"""The scratch directory on the filesystem under test: chosen by the user, checked once, left as it was."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_pario.errors import ParameterError

DEFAULT = "pario-scratch"


def choose_directory(option: Path | None, environment: Mapping[str, str]) -> tuple[Path, str]:
    """The directory and where its name came from: option, then environment, then `./pario-scratch`."""
    if option is not None:
        return option.absolute(), "--pario-dir"
    if environment.get("PARIO_DIR"):
        return Path(environment["PARIO_DIR"]).absolute(), "environment PARIO_DIR"
    return Path(DEFAULT).absolute(), "default"


def check_directory(directory: Path, origin: str) -> None:
    """Refuse, before any I/O, a directory in which no file can be made; only the default is made if missing."""
    if origin == "default" and not directory.exists():
        return
    if not directory.is_dir():
        problem = "is not a directory" if directory.exists() else "does not exist"
        raise ParameterError("scratch directory", str(directory), f"a directory; it {problem}", origin)
    try:
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        allowed = f"a directory in which files can be made; here: {os.strerror(error.errno or 0)}"
        raise ParameterError("scratch directory", str(directory), allowed, origin) from error
