from __future__ import annotations

import pickle

import pytest

from pytest_pario.errors import HintValueError, ParameterError, UnknownParameterError
from pytest_pario.workloads.consortium.table import TABLE
from pytest_pario.workloads.kinds import Choice, Flag, Kind, Seconds, Size, Text, Whole
from pytest_pario.workloads.parameters import Parameter, Table, resolve


@pytest.mark.parametrize(
    ("command_line", "environment", "suite", "value", "origin"),
    [
        (["sz_tile_x=1"], {"SZ_TILE_X": "2"}, {"sz_tile_x": 3}, 1, "command line"),
        ([], {"SZ_TILE_X": "2"}, {"sz_tile_x": 3}, 2, "environment"),
        ([], {}, {"sz_tile_x": 3}, 3, "suite table"),
        ([], {}, {}, 1024, "default"),
        (["sz_tile_x=1", "sz_tile_x=7"], {}, {}, 7, "command line"),
    ],
)
def test_precedence_and_origin(
    command_line: list[str], environment: dict[str, str], suite: dict[str, object], value: int, origin: str
) -> None:
    # CONS-51, CONS-52, CONS-54
    found = resolve(TABLE, command_line, environment, suite)
    assert (found["sz_tile_x"], found.setting("sz_tile_x").origin) == (value, origin)
    assert found.plain()["sz_tile_x"] == {"value": value, "origin": origin}


def test_a_better_source_hides_a_bad_value_of_the_environment() -> None:
    assert resolve(TABLE, ["sz_tile_x=1"], {"SZ_TILE_X": "many"}).whole("sz_tile_x") == 1


def test_a_suite_fills_in_what_the_user_left_open() -> None:
    # CONS-54
    user = resolve(TABLE, ["sz_tile_x=1"], {"SZ_TILE_Y": "2"})
    found = user.over(TABLE, {"sz_tile_x": 7, "sz_tile_y": 8, "sz_element": 9, "filename": None})
    assert [found.setting(name).value for name in ("sz_tile_x", "sz_tile_y", "sz_element")] == [1, 2, 9]
    assert found.setting("sz_element").origin == "suite table"
    assert found.setting("filename").origin == "default"
    assert (found.is_given("sz_tile_y"), found.is_given("sz_element")) == (True, False)
    assert set(found.only(["sz_tile_x", "overlap_x"]).plain()) == {"sz_tile_x", "overlap_x"}
    with pytest.raises(ParameterError, match=r"sz_element = 0 \(from suite table\)"):
        user.over(TABLE, {"sz_element": 0})
    with pytest.raises(UnknownParameterError):
        user.over(TABLE, {"sz_tile_z": 1})


def test_an_error_about_something_else_is_left_alone() -> None:
    with pytest.raises(ParameterError, match=r"^other = 1"), resolve(TABLE).blamed({"ox": "overlap_x"}):
        raise ParameterError("other", 1, "2")


def test_unknown_names() -> None:
    # ERR-02
    with pytest.raises(UnknownParameterError, match=r"sz_tile_z.*known:.*sz_tile_x"):
        resolve(TABLE, ["sz_tile_z=1"])
    with pytest.raises(UnknownParameterError):
        resolve(TABLE, ["SZ_TILE_X=1"])  # CONS-52: lower case on the command line
    with pytest.raises(UnknownParameterError):
        resolve(TABLE, suite={"sz_tile_z": 1})
    assert resolve(TABLE, environment={"SZ_TILE_Z": "1", "sz_tile_x": "5"})["sz_tile_x"] == 1024


@pytest.mark.parametrize(
    ("command_line", "environment", "suite", "sentence"),
    [
        (["sz_tile_x=0"], {}, {}, "sz_tile_x = '0' (from command line): must be a whole number, 1 or more"),
        (
            [],
            {"HEADER_BYTES": "-1"},
            {},
            "header_bytes = '-1' (from environment): must be a number of bytes, 0 or more",
        ),
        ([], {}, {"overlap_x": -1}, "overlap_x = -1 (from suite table): must be a whole number, 0 or more"),
        (["directory=mine"], {}, {}, "directory = 'mine' (from command line): must be one of shared, own"),
        (["collective"], {}, {}, "collective = 'collective' (from command line): must be written as collective=VALUE"),
        # CONS-55
        (["filename="], {}, {}, "filename = '' (from command line): must be a name of letters, digits"),
        (["filename=/lustre/a/data.out"], {}, {}, "without a folder (--pario-dir says where the file lies)"),
        ([], {"FILENAME": "../data.out"}, {}, "filename = '../data.out' (from environment): must be a name"),
    ],
)
def test_bad_values_name_parameter_value_range_and_origin(
    command_line: list[str], environment: dict[str, str], suite: dict[str, object], sentence: str
) -> None:
    # ERR-01
    with pytest.raises(ParameterError) as caught:
        resolve(TABLE, command_line, environment, suite)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Whole(1, 9), {"1": 1, "9": 9}, ["0", "10", "1.5", "x", ""]),
        (Size(0), {"0": 0, "4096": 4096, "4K": 4096, "4 KiB": 4096, "1m": 1 << 20, "7B": 7}, ["-1", "K", "4X", ""]),
        (Seconds(10), {"0.5": 0.5, "10": 10.0}, ["0", "-1", "11", "nan", "inf", "x"]),
        (Flag(), {"0": False, "1": True, "2": True, "yes": True, "off": False}, ["maybe", ""]),
        (Choice(("a", "b")), {"a": "a"}, ["c", ""]),
        (Text(), {"x": "x"}, ["", " ", "a\0b"]),
    ],
)
def test_kinds(kind: Kind, good: dict[str, object], bad: list[str]) -> None:
    for text, value in good.items():
        assert kind.read(text) == value
        assert kind.accepts(value)
    for text in bad:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever the text, the caller makes the sentence
            kind.read(text)
    assert not kind.accepts(None)


def test_a_table_checks_itself() -> None:
    with pytest.raises(ParameterError, match="declared once"):
        Table([Parameter("a", Text(), None, ""), Parameter("a", Text(), None, "")])
    with pytest.raises(ParameterError, match="lower-case"):
        Parameter("A", Text(), None, "")
    with pytest.raises(ParameterError, match="from default"):
        Parameter("a", Whole(1), 0, "")


def test_plain_data_that_can_be_broadcast() -> None:
    # CONS-53
    found = resolve(TABLE, ["cb_nodes=2", "hint:my_key=1"])
    assert pickle.loads(pickle.dumps(found)) == found
    for error in (ParameterError("a", 1, "b"), UnknownParameterError("a", ["b"]), HintValueError("a")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_lines_report_every_origin() -> None:
    # CONS-54
    assert "cb_nodes = 2 (environment)" in resolve(TABLE, environment={"CB_NODES": "2"}).lines()


# Hints


@pytest.mark.parametrize(
    ("command_line", "environment", "hints"),
    [
        ([], {}, {}),
        (["cb_nodes=4"], {}, {"cb_nodes": "4"}),
        (["CB_NODES=4"], {}, {"cb_nodes": "4"}),
        ([], {"CB_CONFIG_LIST": "*:2"}, {"cb_config_list": "*:2"}),
        (["ibm_largeblock_io=true"], {}, {"IBM_largeblock_io": "true"}),
        ([], {"IBM_SPARSE_ACCESS": "true"}, {"IBM_sparse_access": "true"}),
        (["hint:my_Key=a=b"], {}, {"my_Key": "a=b"}),
        (["hint:CB_nodes=4"], {}, {"cb_nodes": "4"}),
    ],
)
def test_hints_are_parameters(command_line: list[str], environment: dict[str, str], hints: dict[str, str]) -> None:
    # CONS-56, CONS-57
    assert resolve(TABLE, command_line, environment).hints == hints


@pytest.mark.parametrize(
    ("command_line", "environment", "sent"),
    [
        (["ind_write_buffer_size=8"], {}, "8"),
        (["ind_wr_buffer_size=9"], {}, "9"),
        (["ind_write_buffer_size=8", "ind_wr_buffer_size=9"], {}, "9"),
        (["ind_write_buffer_size=8"], {"IND_WR_BUFFER_SIZE": "9"}, "8"),
        (["ind_wr_buffer_size=9"], {"IND_WRITE_BUFFER_SIZE": "8"}, "9"),
    ],
)
def test_romio_gets_the_key_that_it_reads(command_line: list[str], environment: dict[str, str], sent: str) -> None:
    # CONS-56
    assert resolve(TABLE, command_line, environment).hints["ind_wr_buffer_size"] == sent


def test_hints_of_a_suite_may_be_numbers() -> None:
    assert resolve(TABLE, suite={"cb_nodes": 4, "hint:other": 1}).hints == {"cb_nodes": "4", "other": "1"}


@pytest.mark.parametrize(
    "pair",
    ["cb_buffer_size=0", "CB_NODES=-3", "hint:cb_nodes=x", "ind_rd_buffer_size=0", "ind_write_buffer_size=1M"],
)
def test_deadly_hints_are_refused(pair: str) -> None:
    # GEN-13
    with pytest.raises(HintValueError, match=r"from command line\): must be a whole number, 1 or more"):
        resolve(TABLE, [pair])
