"""The twelve data calls of MPI-IO as a table (MODEL-06)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_pario.errors import UnknownParameterError

Pointer = Literal["explicit", "individual", "shared"]


@dataclass(frozen=True)
class DataCall:
    """One way to move bytes between memory and a file."""

    name: str
    """Name of the guarded method; the MPI name without its prefix, in lower case."""

    writes: bool
    """Whether bytes go to the file; otherwise they come from it."""

    pointer: Pointer
    """Which position the call uses: its offset argument, the task's own pointer or the pointer of all tasks."""

    collective: bool
    """Whether every task of the file has to make the call."""

    @property
    def method(self) -> str:
        """Name of the method of mpi4py's `MPI.File`."""
        return self.name.capitalize()


# fmt: off
#            name             writes  pointer       collective
CALLS = {call.name: call for call in [
    DataCall("write_at_all",  True,   "explicit",   True),
    DataCall("read_at_all",   False,  "explicit",   True),
    DataCall("write_at",      True,   "explicit",   False),
    DataCall("read_at",       False,  "explicit",   False),
    DataCall("write_all",     True,   "individual", True),
    DataCall("read_all",      False,  "individual", True),
    DataCall("write",         True,   "individual", False),
    DataCall("read",          False,  "individual", False),
    DataCall("write_ordered", True,   "shared",     True),
    DataCall("read_ordered",  False,  "shared",     True),
    DataCall("write_shared",  True,   "shared",     False),
    DataCall("read_shared",   False,  "shared",     False),
]}
# fmt: on


def find_call(name: str) -> DataCall:
    """Look a data call up by its name; a miss lists what there is."""
    if name not in CALLS:
        raise UnknownParameterError(name, CALLS)
    return CALLS[name]
