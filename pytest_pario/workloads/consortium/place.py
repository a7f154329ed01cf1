"""Where an interactive test has its files, and how they are made ready before each repetition (CONS-69)."""

from __future__ import annotations

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from pytest_pario.workloads.consortium.tree import Tree


@dataclass(frozen=True)
class Place:
    """Where the files of an interactive test lie."""

    root: Path
    tree: Tree

    @property
    def top(self) -> Path:
        """The tree."""
        return self.root / "tree"

    @property
    def large(self) -> Path:
        """The large file."""
        return self.root / "large"

    @property
    def copy(self) -> Path:
        """What an operation makes, or removes."""
        return self.root / "copy"

    @property
    def archive(self) -> Path:
        """An archive of the tree."""
        return self.root / "tree.tar"

    def clear(self) -> None:
        """Remove what an operation made."""
        if self.copy.is_dir():
            shutil.rmtree(self.copy)
        else:
            self.copy.unlink(missing_ok=True)


# What is done before each repetition.


def clear(place: Place) -> None:
    """Remove what the repetition before made."""
    place.clear()


def make_folder(place: Place) -> None:
    """Have an empty folder to unpack into."""
    place.clear()
    place.copy.mkdir()


def copy_tree(place: Place) -> None:
    """Have a copy to remove."""
    place.clear()
    shutil.copytree(place.top, place.copy)


def nothing(_: Place) -> None:
    """Leave everything as it is."""


def drop_archive(place: Place) -> None:
    """Have no archive."""
    place.archive.unlink(missing_ok=True)


def make_archive(place: Place) -> None:
    """Have an archive, made without the program that is measured."""
    if not place.archive.exists():
        with tarfile.open(place.archive, "w") as archive:
            archive.add(place.top, arcname=".")


def make_archive_and_folder(place: Place) -> None:
    """Have an archive, and an empty folder to unpack it into."""
    make_archive(place)
    make_folder(place)
