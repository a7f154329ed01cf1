"""All layouts by name, and layouts whose parameters depend on the number of ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_pario import model
from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.patterns.block3d import Block3D
from pytest_pario.patterns.cells import Cells
from pytest_pario.patterns.expression import evaluate
from pytest_pario.patterns.files import Files
from pytest_pario.patterns.multipartition import Multipartition
from pytest_pario.patterns.protocol import Layout
from pytest_pario.patterns.random_sizes import RandomSizes
from pytest_pario.patterns.same import Same
from pytest_pario.patterns.scattered import Scattered
from pytest_pario.patterns.segmented import Segmented
from pytest_pario.patterns.sparse_strided import SparseStrided
from pytest_pario.patterns.strided import Strided
from pytest_pario.patterns.tiles import Tiles

LAYOUTS: dict[str, type[Layout]] = {
    kind.name: kind
    for kind in (
        *(Strided, Segmented, Tiles, Block3D, Scattered, RandomSizes, SparseStrided, Same, Files, Cells),
        Multipartition,
    )
}


def find(name: str) -> type[Layout]:
    """The layout of this name; a miss lists what there is."""
    if name not in LAYOUTS:
        raise ParameterError("layout", name, "one of " + ", ".join(sorted(LAYOUTS)))
    return LAYOUTS[name]


def build(name: str, parameters: Mapping[str, object]) -> model.Layout:
    """A layout from plain data; lists become tuples, and a text is an expression over the number of ranks n."""
    values = {key: _frozen(value) for key, value in parameters.items()}
    if any(_is_expression(value) for value in values.values()):
        return Scaled(name, tuple(values.items()))
    return _make(name, values)


def _make(name: str, values: Mapping[str, object]) -> Layout:
    kind = find(name)
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise UnknownParameterError(f"{name}.{key}", (f"{name}.{field}" for field in fields))
    for key, field in fields.items():
        if key not in values and field.default is dataclasses.MISSING:
            raise ParameterError(f"{name}.{key}", None, "given: it has no default")
    return kind(**values)


@dataclass(frozen=True)
class Scaled:
    """A layout whose parameters depend on the number of ranks, such as `scaled("scattered", total="340992*n", …)`."""

    name: str
    given: tuple[tuple[str, object], ...]

    def __post_init__(self) -> None:
        find(self.name)
        for _, value in self.given:
            _evaluated(value, 1)

    @property
    def ordered(self) -> bool:
        """Not known before the number of ranks is."""
        return False

    def at(self, n: int) -> Layout:
        """The layout with every expression evaluated, checked for `n` ranks."""
        return _make(self.name, {key: _evaluated(value, n) for key, value in self.given}).at(n)

    def parameters(self) -> dict[str, object]:
        """The parameters as given, expressions as texts."""
        return dict(self.given)


def scaled(name: str, **parameters: object) -> model.Layout:
    """A layout by name whose parameters may be expressions over n."""
    return build(name, parameters)


def _frozen(value: object) -> object:
    return tuple(_frozen(part) for part in value) if isinstance(value, (list, tuple)) else value


def _is_expression(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and any(_is_expression(part) for part in value))


def _evaluated(value: object, n: int) -> object:
    if isinstance(value, tuple):
        return tuple(_evaluated(part, n) for part in value)
    return evaluate(value, n) if isinstance(value, str) else value
