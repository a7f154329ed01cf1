"""Parameters of suites: command line over environment over suite table over default, each with its origin. Pure.

    table = Table([Parameter("collective", Flag(), False, "…"), …])
    parameters = mpi.on_root(comm, lambda: resolve(table, ["collective=1"], os.environ, {"header_bytes": 777}))

The rules are those of the Consortium's proposal on parameters and hints (R. Ross, 15 March 2002; CONS-51..57).
Process 0 alone may know the command line and the environment, so it parses and broadcasts the result, which is plain
data (CONS-53). A hint is a parameter whose name equals the hint's key but for case; other hints are passed through as
`hint:KEY=VALUE`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.workloads.hints import ALSO_SENT, HINT_KEYS, check_hint
from pytest_pario.workloads.kinds import Kind, Text

Origin = Literal["command line", "environment", "suite table", "default"]

PRECEDENCE: tuple[Origin, ...] = ("command line", "environment", "suite table", "default")
"""Who is heard first (CONS-54)."""

PASSED_THROUGH = "hint:"
"""How a hint is written that no parameter is named after (CONS-57)."""


@dataclass(frozen=True)
class Parameter:
    """One row of a table of parameters."""

    name: str
    """As on the command line: lower case and underscores; in the environment it is in upper case (CONS-52)."""
    kind: Kind
    default: object
    """None means unset."""
    help: str
    hint: str | None = None
    """The key of the hint that the parameter stands for, as the library spells it (CONS-56)."""

    def __post_init__(self) -> None:
        ours = not self.name.startswith(PASSED_THROUGH)
        if ours and (not self.name.isidentifier() or self.name != self.name.lower()):
            raise ParameterError("name", self.name, "lower-case letters, digits and underscores", "table")
        if self.default is not None and not self.kind.accepts(self.default):
            raise ParameterError(self.name, self.default, self.kind.allowed, "default")

    @property
    def variables(self) -> tuple[str, ...]:
        """Its names in the environment (CONS-52); those of MPI-IO/GPFS also as it spells them (GPFS-04)."""
        spelt = (self.hint,) if self.hint is not None and self.hint != self.hint.lower() else ()
        return (self.name.upper(), *spelt)


HINTS = tuple(Parameter(key.lower(), Text(), None, f"hint {key}", hint=key) for key in HINT_KEYS)
"""A parameter for each hint that suites know (CONS-56)."""


class Table:
    """Parameters by name, in the order in which they were declared; the known hints are always among them."""

    def __init__(self, rows: Iterable[Parameter]) -> None:
        """Refuse two rows of one name."""
        self._rows: dict[str, Parameter] = {}
        for row in (*rows, *HINTS):
            if row.name in self._rows:
                raise ParameterError("name", row.name, "declared once", "table")
            self._rows[row.name] = row

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._rows.values())

    def find(self, name: str) -> Parameter:
        """The row of a name; a hint's may be in any case. What nobody declared is an error (ERR-02)."""
        row = self._rows.get(name) or self._rows.get(name.lower())
        if name.startswith(PASSED_THROUGH) and len(name) > len(PASSED_THROUGH):
            return self._passed_through(name.removeprefix(PASSED_THROUGH))
        if row is None or (row.name != name and row.hint is None):
            raise UnknownParameterError(name, [*self._rows, f"{PASSED_THROUGH}KEY"])
        return row

    def _passed_through(self, key: str) -> Parameter:
        row = self._rows.get(key.lower())
        if row is not None and row.hint is not None:
            return row
        # the key need not be a name of ours: it goes as it is
        return Parameter(PASSED_THROUGH + key, Text(), None, f"hint {key}", hint=key)


@dataclass(frozen=True)
class Setting:
    """A parameter's value and where it came from (CONS-54)."""

    name: str
    value: object
    origin: Origin
    hint: str | None = None


@dataclass(frozen=True)
class Parameters:
    """What all processes run with; plain data, to be broadcast (CONS-53)."""

    settings: tuple[Setting, ...]

    def __getitem__(self, name: str) -> object:
        return self.setting(name).value

    def setting(self, name: str) -> Setting:
        """Value and origin of one parameter."""
        for one in self.settings:
            if one.name == name:
                return one
        raise UnknownParameterError(name, [one.name for one in self.settings])

    def whole(self, name: str) -> int:
        """The value of a parameter that is a whole number or a flag."""
        value = self[name]
        if not isinstance(value, int):
            raise ParameterError(name, value, "set to a whole number", self.setting(name).origin)
        return value

    def text(self, name: str) -> str:
        """The value of a parameter that is a text."""
        return str(self[name])

    @property
    def hints(self) -> dict[str, str]:
        """What is asked of the library: the hints that are set, under the keys that it reads (CONS-56)."""
        given = {one.hint: one for one in self.settings if one.hint and one.value is not None}
        sent = {key: str(one.value) for key, one in given.items()}
        for ours, theirs in ALSO_SENT.items():
            if ours in given and (theirs not in given or _before(given[ours], given[theirs])):
                sent[theirs] = sent[ours]
        return sent

    def is_given(self, name: str) -> bool:
        """Whether the user set it, on the command line or in the environment."""
        return self.setting(name).origin in ("command line", "environment")

    def over(self, table: Table, suite: Mapping[str, object]) -> Parameters:
        """The same with a suite's own values in place of defaults; what the user gave stays (CONS-54)."""
        rows = {table.find(name): value for name, value in suite.items() if value is not None}
        own = {row.name: _checked(row, value) for row, value in rows.items()}
        return Parameters(
            tuple(own.get(one.name, one) if one.origin == "default" else one for one in self.settings),
        )

    def only(self, names: Iterable[str]) -> Parameters:
        """Some of them, in the order of the names: those that a test uses."""
        return Parameters(tuple(self.setting(name) for name in names))

    @property
    def only_hints(self) -> Parameters:
        """The hints that are set: they are asked for at every open."""
        return Parameters(tuple(one for one in self.settings if one.hint and one.value is not None))

    @contextlib.contextmanager
    def blamed(self, fields: Mapping[str, str]) -> Iterator[None]:
        """Let an error about a field name the parameter that it was made of, and its origin (ERR-01)."""
        try:
            yield
        except ParameterError as error:
            name = fields.get(error.name.rpartition(".")[2])
            if name is None:
                raise
            raise ParameterError(name, error.value, error.allowed, self.setting(name).origin) from None

    def plain(self) -> dict[str, dict[str, object]]:
        """Name → value and origin, without what is unset, for a result record (CONS-54)."""
        return {one.name: {"value": one.value, "origin": one.origin} for one in self.settings if one.value is not None}

    def lines(self) -> list[str]:
        """One line for each parameter that is set: `sz_tile_x = 100 (command line)`."""
        return [f"{one.name} = {one.value} ({one.origin})" for one in self.settings if one.value is not None]


def resolve(
    table: Table,
    command_line: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    suite: Mapping[str, object] | None = None,
) -> Parameters:
    """Take every parameter from the first that names it, and check it; to be called on process 0 only (CONS-53)."""
    given = dict(_read_pair(table, pair) for pair in command_line)
    chosen = {row.name: Setting(row.name, row.default, "default", row.hint) for row in table}
    for name, value in (suite or {}).items():
        row = table.find(name)
        chosen[row.name] = _checked(row, value)
    for row in table:
        # names of others are ignored (ERR-02)
        text = next((environment[name] for name in row.variables if name in environment), None) if environment else None
        if text is not None and row.name not in given:
            chosen[row.name] = _read(row, text, "environment")
    return Parameters(tuple({**chosen, **given}.values()))


def _read_pair(table: Table, pair: str) -> tuple[str, Setting]:
    name, equals, text = pair.partition("=")
    row = table.find(name.strip())
    if not equals:
        raise ParameterError(row.name, pair, f"written as {row.name}=VALUE", "command line")
    return row.name, _read(row, text, "command line")


def _read(row: Parameter, text: str, origin: Origin) -> Setting:
    try:
        value = row.kind.read(text)
    except ValueError:
        raise ParameterError(row.name, text, row.kind.allowed, origin) from None
    if row.hint is not None:
        check_hint(row.hint, text, origin)
    return Setting(row.name, value, origin, row.hint)


def _checked(row: Parameter, value: object) -> Setting:
    if row.hint is not None:
        return _read(row, str(value), "suite table")
    if value is not None and not row.kind.accepts(value):
        raise ParameterError(row.name, value, row.kind.allowed, "suite table")
    return Setting(row.name, value, "suite table")


def _before(one: Setting, other: Setting) -> bool:
    return PRECEDENCE.index(one.origin) < PRECEDENCE.index(other.origin)
