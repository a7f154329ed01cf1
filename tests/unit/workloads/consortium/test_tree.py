from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.errors import ParameterError, SpaceError, VerificationError
from pytest_pario.units import TiB
from pytest_pario.workloads.consortium.names import check_names
from pytest_pario.workloads.consortium.room import require_room
from pytest_pario.workloads.consortium.tree import Tree, compare, mark_file, mark_tree


def test_files_are_dealt_out_over_all_levels() -> None:
    tree = Tree(files=4, size=1, depth=2, large_size=1)
    assert tree.folders == ("level01", "level01/level02")
    assert tree.names == ("file000000", "level01/file000001", "level01/level02/file000002", "file000003")
    assert Tree(files=2, size=1, depth=0, large_size=1).names == ("file000000", "file000001")


@pytest.mark.parametrize("size", [0, 1, 4096, 300_000])
def test_what_is_planted_has_the_expected_marks(tmp_path: Path, size: int) -> None:
    tree = Tree(files=5, size=size, depth=1, large_size=(1 << 20) + 7)
    tree.plant(tmp_path / "top", tmp_path / "large")
    assert mark_tree(tmp_path / "top") == tree.marks()
    assert mark_file(tmp_path / "large") == tree.large_mark()
    if size > 16:
        assert len({mark.digest for mark in tree.marks().values()}) == 5  # no two are alike


def test_content_is_never_zero() -> None:
    # GEN-02
    assert 0 not in Tree(files=1, size=300_000, depth=0, large_size=1).content(0)


def test_pieces_of_the_large_file_differ() -> None:
    pieces = list(Tree(files=1, size=0, depth=0, large_size=4 << 20).large_pieces())
    assert len(set(pieces)) == 4


@pytest.mark.parametrize(("name", "value"), [("files", 0), ("size", -1), ("depth", -1), ("large_size", 0)])
def test_impossible_trees_are_refused(name: str, value: int) -> None:
    # ERR-01
    good = {"files": 1, "size": 1, "depth": 1, "large_size": 1}
    with pytest.raises(ParameterError, match=name):
        Tree(**{**good, name: value})
    with pytest.raises(ParameterError, match="or less"):
        Tree(**{**good, "large_size": TiB})


def test_compare_names_what_differs() -> None:
    with pytest.raises(VerificationError, match="1 missing: a; 1 that should not be there: c; 1 different: b"):
        compare("row", {"a": 1, "b": 2}, {"b": 3, "c": 4})
    compare("row", {"a": 1}, {"a": 1})


def test_names_must_be_exactly_those(tmp_path: Path) -> None:
    # CONS-74
    (tmp_path / "own").mkdir()
    (tmp_path / "own/a").touch()
    (tmp_path / "b").touch()
    check_names("row", tmp_path, ["own/a", "b"], "after create")
    with pytest.raises(
        VerificationError, match=r"after create 2 files .*1 missing: c; 1 that should not be there: own/a"
    ):
        check_names("row", tmp_path, ["b", "c"], "after create")
    with pytest.raises(VerificationError, match=r"2 that should not be there: b, own/a"):
        check_names("row", tmp_path, [], "after unlink")


def test_no_start_without_room(tmp_path: Path) -> None:
    # GEN-16, ERR-09
    require_room(tmp_path, 1, 1)
    with pytest.raises(SpaceError, match=r"are needed, .* are free"):
        require_room(tmp_path, 1, 1 << 60)
