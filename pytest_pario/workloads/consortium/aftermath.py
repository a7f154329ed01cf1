"""What must hold after a program has done its work; what does not is named (CONS-70).

Each function takes the name of the row, the place and what the program printed.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

from pytest_pario.errors import VerificationError
from pytest_pario.workloads.consortium.place import Place
from pytest_pario.workloads.consortium.tree import Mark, compare, mark_bytes, mark_file, mark_tree


def large_is_copied(row: str, place: Place, _: str) -> None:
    """The large file has a copy with its size and checksum."""
    compare(row, {"large": place.tree.large_mark()}, {"large": mark_file(place.copy)} if place.copy.exists() else {})


def tree_is_copied(row: str, place: Place, _: str) -> None:
    """The tree has a copy: same names, sizes and checksums."""
    compare(row, place.tree.marks(), mark_tree(place.copy))


def names_are_listed(row: str, place: Place, output: str) -> None:
    """All names below the top were printed, one in a line."""
    compare(row, dict.fromkeys(_everything(place), True), dict.fromkeys(output.split(), True))


def archive_is_listed(row: str, place: Place, output: str) -> None:
    """All names in the archive were printed."""
    # tar -t prints "./", "./level01/", "./level01/file000001"
    names = [line.removeprefix("./").rstrip("/") for line in output.splitlines()]
    compare(row, dict.fromkeys(_everything(place), True), dict.fromkeys(filter(None, names), True))


def sizes_are_listed(row: str, place: Place, output: str) -> None:
    """Size and name of every file were printed."""
    # "4096\tlevel01/file000001"
    pairs = (line.split("\t", 1) for line in output.splitlines())
    expected = {name: str(place.tree.size) for name in place.tree.names}
    compare(row, expected, {name.removeprefix(f"{place.top}/"): size for size, name in pairs})


def sections_are_listed(row: str, place: Place, output: str) -> None:
    """All names were printed folder by folder."""
    compare(row, dict.fromkeys(_everything(place), True), dict.fromkeys(_sections(place, output), True))


def sections_have_sizes(row: str, place: Place, output: str) -> None:
    """Names and sizes of all files were printed folder by folder."""
    sizes = {name: str(place.tree.size) for name in place.tree.names}
    found = {}
    for path, line in _sections(place, output).items():
        # "-rw-r--r-- 1 0 0 4096 Jan  1 00:00 file000001"
        fields = line.split()
        if fields[0].startswith("-"):
            found[path] = fields[4]
    compare(row, sizes, found)


def _sections(place: Place, output: str) -> dict[str, str]:
    """Entries of `ls -R` by path below the top; a section is `FOLDER:`, then a line for each entry."""
    found: dict[str, str] = {}
    folder = place.top
    for line in output.splitlines():
        if line.endswith(":") and line.startswith("/"):
            folder = Path(line[:-1])
        elif line and not line.startswith("total "):
            found[str((folder / line.split()[-1]).relative_to(place.top))] = line
    return found


def archive_is_whole(row: str, place: Place, _: str) -> None:
    """The archive holds the tree: same names, sizes and checksums."""
    found: dict[str, Mark] = {}
    with tarfile.open(place.archive) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                found[member.name.removeprefix("./")] = mark_bytes(content.read())
    compare(row, place.tree.marks(), found)


def nothing_is_left(row: str, place: Place, _: str) -> None:
    """What was to be removed is gone."""
    if place.copy.exists():
        raise VerificationError(row, f"{place.copy} is still there")


def _everything(place: Place) -> tuple[str, ...]:
    return (*place.tree.folders, *place.tree.names)
