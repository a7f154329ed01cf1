"""Hint sets from a matrix of keys and values, and ready matrices. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from pytest_pario.errors import ParameterError
from pytest_pario.workloads.hints import check_hints

MOST_SETS = 4096
DEFAULT_NAME = "default"
LONGEST_KEY, LONGEST_VALUE = 254, 1023
"""Most bytes of a key and of a value in MPICH (ENV-23); a library that takes less is asked at open."""

Matrix = Mapping[str, tuple[str, ...]]
"""Values of each key, or of several that always get the same one (`romio_cb_read+romio_cb_write`)."""

# fmt: off
MATRICES: Mapping[str, Matrix] = {
    # collective buffering and data sieving of ROMIO, for writes and for reads; whichever is used has the buffer
    "romio-write": {
        "romio_cb_write":     ("automatic", "enable", "disable"),
        "romio_ds_write":     ("automatic", "disable"),
        "cb_buffer_size+ind_wr_buffer_size": ("1048576", "16777216"),
        # by default one rank of a host may be an aggregator, whatever cb_nodes says (ENV-22)
        "cb_config_list":     ("*:*",),
        "cb_nodes":           ("1", "4"),
    },
    "romio-read": {
        "romio_cb_read":      ("automatic", "enable", "disable"),
        "romio_ds_read":      ("automatic", "disable"),
        "cb_buffer_size":     ("1048576", "16777216"),
        "ind_rd_buffer_size": ("524288", "4194304"),
    },
    # MPI-IO/GPFS: data shipping and its buffer (GPFS-35, GPFS-38); other libraries drop them, and cells say so
    "ibm": {
        "IBM_largeblock_io":  ("false", "true"),
        "IBM_io_buffer_size": ("2MB", "8MB", "16MB"),
        "IBM_sparse_access":  ("false", "true"),
    },
    # what ROMIO has in their place: no data shipping is independent access, its buffer is that of two-phase or, without
    # it, of sieving, which sparse access does better without
    "ibm-as-romio": {
        "romio_cb_read+romio_cb_write": ("enable", "disable"),
        "cb_buffer_size+ind_rd_buffer_size+ind_wr_buffer_size": ("2097152", "8388608", "16777216"),
        "romio_ds_read+romio_ds_write": ("enable", "disable"),
    },
}
# fmt: on


@dataclass(frozen=True)
class HintSet:
    """Hints that are asked for together."""

    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`cb_nodes=4 romio_cb_write=enable`, or `default` without any."""
        return " ".join(f"{key}={value}" for key, value in sorted(self.hints.items())) or DEFAULT_NAME


def parse_matrix(words: Sequence[str], ready: str | None = None) -> dict[str, tuple[str, ...]]:
    """A matrix from `key=value,value` words, on top of a ready one."""
    if ready is not None and ready not in MATRICES:
        raise ParameterError("matrix", ready, f"one of {', '.join(MATRICES)}", "--matrix")
    matrix: dict[str, tuple[str, ...]] = {}
    for word in words:
        key, equals, values = word.partition("=")
        listed = tuple(value.strip() for value in values.split(",") if value.strip())
        if not all(_keys_of([key])) or not equals or not listed:
            raise ParameterError("hint", word, "written as key=value,value", "--hint")
        if twice := _keys_of(matrix) & _keys_of([key]):
            raise ParameterError("hint", word, f"the only --hint with {min(twice)}: all its values in one", "--hint")
        _check_lengths(key, listed)
        matrix["+".join(sorted(_keys_of([key])))] = tuple(dict.fromkeys(listed))
    if ready is not None:
        given = _keys_of(matrix)
        rest = {"+".join(sorted(_keys_of([joined]) - given)): values for joined, values in MATRICES[ready].items()}
        matrix = {key: values for key, values in rest.items() if key} | matrix
    if not matrix:
        raise ParameterError("hint", "", "given at least once, or a ready --matrix", "--hint")
    return matrix


def _keys_of(joined: Iterable[str]) -> set[str]:
    """The single keys of joined ones."""
    return {key.strip() for one in joined for key in one.split("+")}


def _check_lengths(key: str, values: tuple[str, ...]) -> None:
    """Refuse what no library can be told, or what a hint file cannot hold."""
    for one in _keys_of([key]):
        if len(one.encode()) > LONGEST_KEY or any(character.isspace() for character in one):
            raise ParameterError("hint key", one[:40], f"at most {LONGEST_KEY} bytes without blanks", "--hint")
    for value in values:
        if len(value.encode()) > LONGEST_VALUE or not value.isprintable():
            raise ParameterError(f"value of {key}", value[:40], f"at most {LONGEST_VALUE} printable bytes", "--hint")


def cross(matrix: Matrix) -> tuple[HintSet, ...]:
    """All combinations, the default before them; a value that would crash a library is refused."""
    count = 1
    for values in matrix.values():
        count *= len(values)
    if count > MOST_SETS:
        raise ParameterError("matrix", f"{count} sets", f"at most {MOST_SETS} combinations", "--hint")
    sets = [
        HintSet({key: value for joined, value in zip(matrix, chosen, strict=True) for key in joined.split("+")})
        for chosen in product(*matrix.values())
    ]
    for one in sets:
        check_hints(one.hints, "--hint")
    return (HintSet(), *sets)


def order_of(count: int, rounds: int, every: int = 4) -> list[list[int]]:
    """Set numbers of each round: all but the default (0) once, turned by round, with the default every few sets."""
    if count < 1 or rounds < 1:
        raise ParameterError("rounds", rounds, "1 or more")
    plans = []
    for number in range(rounds):
        others = list(range(1, count))
        turn = number * max(1, (count - 1) // rounds) % max(1, count - 1)
        others = others[turn:] + others[:turn]
        # every other round backwards: what drifts inside a round cancels
        others = others[::-1] if number % 2 else others
        plan = [0]
        for place, one in enumerate(others, start=1):
            plan.append(one)
            if place % every == 0 or place == len(others):
                plan.append(0)
        plans.append(plan)
    return plans
