"""Every error that pario raises, on one page (ERR-01..13).

An error names the thing (row, parameter, file), the ranks, the fact and the next step.
"""

from __future__ import annotations

from collections.abc import Iterable


class ParioError(Exception):
    """Base of all errors of this package."""


class ParameterError(ParioError, ValueError):
    """A parameter is outside its range; raised before any I/O (ERR-01)."""

    def __init__(self, name: str, value: object, allowed: str, origin: str = "suite table") -> None:
        """Name the parameter, what was given, what is allowed and where the value came from."""
        super().__init__(name, value, allowed, origin)
        self.name, self.value, self.allowed, self.origin = name, value, allowed, origin

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r} (from {self.origin}): must be {self.allowed}"


class UnknownParameterError(ParioError, LookupError):
    """A parameter name that nothing knows was given on the command line (ERR-02)."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """List what there is beside what was asked for."""
        known = sorted(known)
        super().__init__(name, known)
        self.name, self.known = name, known

    def __str__(self) -> str:
        return f"unknown parameter {self.name!r}; known: {', '.join(self.known)}"


class ProcessCountError(ParioError):
    """The job has fewer processes than were explicitly asked for (ERR-03)."""


class HintFileError(ParioError):
    """A line of a hint options file matches nothing or cannot be parsed (ERR-04, BEFF-56)."""

    def __init__(self, file: str, line: int, field: str, problem: str) -> None:
        """Name file, line number and the offending field."""
        super().__init__(file, line, field, problem)
        self.file, self.line, self.field, self.problem = file, line, field, problem

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.field}: {self.problem}"


class HintValueError(ParioError, ValueError):
    """A hint value that would crash or stall the MPI library is refused before use (ERR-04, GEN-13)."""


class FileAccessError(ParioError):
    """An MPI-IO call failed on this task; carries the MPI error class (ERR-05)."""

    def __init__(self, operation: str, path: str, error_class: str, text: str, rank: int) -> None:
        """Say which call on which file failed on which rank, and with what class."""
        super().__init__(operation, path, error_class, text, rank)
        self.operation, self.path, self.error_class, self.text, self.rank = operation, path, error_class, text, rank

    def __str__(self) -> str:
        return f"{self.operation} of {self.path!r} failed on rank {self.rank}: {self.error_class}: {self.text}"


class RemoteTaskError(ParioError):
    """This task is fine, but the collective call failed on other tasks (ERR-06, GPFS-48)."""

    def __init__(self, operation: str, ranks: Iterable[int]) -> None:
        """Name the ranks that failed."""
        ranks = sorted(ranks)
        super().__init__(operation, ranks)
        self.operation, self.ranks = operation, ranks

    def __str__(self) -> str:
        return f"{self.operation} failed on another task: rank{'s' if len(self.ranks) > 1 else ''} " + ", ".join(
            map(str, self.ranks)
        )


class InconsistentArgumentsError(ParioError):
    """Arguments that must agree differ between tasks of a collective call (ERR-06, GPFS-52)."""

    def __init__(self, operation: str, arguments: Iterable[str], ranks: Iterable[int]) -> None:
        """Name the arguments and the ranks that saw a neighbour differ."""
        arguments, ranks = sorted(arguments), sorted(ranks)
        super().__init__(operation, arguments, ranks)
        self.operation, self.arguments, self.ranks = operation, arguments, ranks

    def __str__(self) -> str:
        return (
            f"{self.operation}: {', '.join(self.arguments) or 'arguments'} must be equal on all ranks; "
            f"ranks {', '.join(map(str, self.ranks))} differ from their right neighbour"
        )


class ShortTransferError(ParioError):
    """A call moved fewer bytes than it was asked to (ERR-07)."""

    def __init__(self, operation: str, offset: int | None, asked_bytes: int, moved_bytes: int) -> None:
        """Say where (None: at a file pointer, or in several calls), how many were asked for and how many moved."""
        super().__init__(operation, offset, asked_bytes, moved_bytes)
        self.operation, self.offset, self.asked_bytes, self.moved_bytes = operation, offset, asked_bytes, moved_bytes

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at offset {self.offset}"
        return f"{self.operation}{where}: asked for {self.asked_bytes} B, moved {self.moved_bytes} B"


class VerificationError(ParioError, AssertionError):
    """Wrong bytes; never turned into a warning (ERR-08, GEN-07)."""

    def __init__(self, row: str, damage: object) -> None:
        """Name the row; `damage` is a `model.Damage`, whose sentence says where, what and whose."""
        super().__init__(row, damage)
        self.row, self.damage = row, damage

    def __str__(self) -> str:
        return f"{self.row}: {self.damage}"


class SpaceError(ParioError):
    """The filesystem under test has too little room; raised before the start (ERR-09, GEN-16)."""


class CacheStateError(ParioError):
    """`require_cold` was set and the cache could not be shown to be cold (ERR-10)."""


class StripeUnknownError(ParioError):
    """Stripe unit and factor are neither given nor reported by the filesystem; they are never guessed (ERR-11)."""


class DirectiveError(ParioError):
    """A directive of file partitioning or data shipping came at a time when it is not allowed (GPFS-39, GPFS-41)."""


class SimulationError(ParioError):
    """A modelled program can never end, because its processes wait for each other."""


class WatchdogTimeout(ParioError):  # noqa: N818 - a timeout, as in the specification (ERR-12)
    """A test did not end in its time; the text names the ranks and the call each is in (ERR-12)."""


class SessionError(ParioError):
    """The ranks cannot form or keep a session: launcher and library disagree, or the hub is gone."""


class JournalError(ParioError):
    """A journal cannot be read or written, or belongs to a different run."""


class StoreError(ParioError):
    """A file of the baseline store is damaged, foreign, edited or of another release; the text names it."""
