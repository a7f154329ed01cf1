"""mpi-tile-io: parameters and bandwidth."""

from __future__ import annotations

import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.model import Samples, Spread
from pytest_pario.patterns import Tiles
from pytest_pario.units import MiB
from pytest_pario.workloads.consortium.tiles import FIELDS, tile_rates, tiles_of
from pytest_pario.workloads.parameters import resolve
from pytest_pario.workloads.table import TABLE


def test_defaults_are_those_of_the_program() -> None:  # CONS-58
    given = resolve(TABLE)
    assert tiles_of(given) == Tiles(1, 1, 1024, 1024, 3, 0, 0, 0)
    assert (given["collective"], given["write_file"]) == (False, False)
    assert given["cb_config_list"] is None
    assert given["filename"] is None


def test_an_impossible_value_is_told_by_its_own_name() -> None:  # ERR-01, CONS-68
    given = resolve(TABLE, ["overlap_x=5000"], {"NR_TILES_X": "2"}, {"sz_tile_x": 256})
    with pytest.raises(ParameterError) as caught:
        tiles_of(given)
    assert str(caught.value) == "overlap_x = 5000 (from command line): must be less than the 256 elements of a tile"
    with pytest.raises(ParameterError, match=r"overlap_y = 9 \(from environment\)"):
        tiles_of(resolve(TABLE, ["nr_tiles_y=2", "sz_tile_y=8"], {"OVERLAP_Y": "9"}))


def test_every_field_has_its_parameter() -> None:  # CONS-58
    assert set(FIELDS) == {"nx", "ny", "sx", "sy", "elem", "ox", "oy", "header"}
    values = dict(zip(FIELDS.values(), (2, 3, 20, 10, 5, 4, 1, 777), strict=True))
    given = resolve(TABLE, [f"{name}={value}" for name, value in values.items()])
    assert tiles_of(given) == Tiles(2, 3, 20, 10, 5, 4, 1, 777)


def test_bandwidth_is_by_the_largest_time_of_the_access() -> None:  # CONS-66
    slow, fast = Spread(1.0, 1.5, 2.0, 0.25), Spread(0.0, 0.0, 0.0, 0.0)
    read = Samples((4 * MiB,), (slow,), (slow,), (fast,), (slow,), (6.0,), (6.0,))
    assert tile_rates(read) == (2.0,)  # open and close are not in it
    write = Samples((4 * MiB,), (slow,), (slow,), (slow,), (slow,), (8.0,), (8.0,))
    assert tile_rates(write) == (1.0,)  # the sync belongs to the write (CONS-26)
