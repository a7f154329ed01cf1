"""A tree of stamped files and one large file, and what a right copy of them looks like (CONS-69, CONS-70)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pytest_pario.errors import ParameterError, VerificationError
from pytest_pario.patterns.stream import make_stream
from pytest_pario.units import GiB, MiB
from pytest_pario.workloads.consortium.names import list_files

MOST_BYTES = 64 * GiB
SHOWN = 5
WRITER = 0
"""The one process that makes these files."""


class Mark(NamedTuple):
    """Size and checksum of a file."""

    size: int
    digest: str


@dataclass(frozen=True)
class Tree:
    """`files` files of `size` bytes each on `depth` levels of folders, and one large file."""

    files: int
    size: int
    depth: int
    large_size: int
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"files": 1, "size": 0, "depth": 0, "large_size": 1}
        for name, lowest in least.items():
            if getattr(self, name) < lowest:
                raise ParameterError(name, getattr(self, name), f"{lowest} or more")
        if self.total_bytes > MOST_BYTES:
            raise ParameterError("files * size + large_size", self.total_bytes, f"{MOST_BYTES} B or less")

    @property
    def total_bytes(self) -> int:
        """Bytes of all files."""
        return self.files * self.size + self.large_size

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders below the top, each in the one before; files are dealt out over all levels."""
        return tuple("/".join(f"level{level:02d}" for level in range(1, last + 1)) for last in range(1, self.depth + 1))

    @property
    def names(self) -> tuple[str, ...]:
        """Files below the top."""
        places = ("", *self.folders)
        return tuple(
            f"{place}/file{i:06d}".lstrip("/") for i in range(self.files) for place in (places[i % len(places)],)
        )

    def content(self, index: int) -> bytes:
        """The bytes of one file of the tree."""
        # one stream for all, the large file behind the others: where a file begins in it tells files apart
        return self._cut(index * self.size, self.size)

    def large_pieces(self, piece: int = MiB) -> Iterator[bytes]:
        """The bytes of the large file, in pieces."""
        for begin in range(0, self.large_size, piece):
            yield self._cut(self.files * self.size + begin, min(piece, self.large_size - begin))

    def _cut(self, begin: int, size: int) -> bytes:
        out = np.empty(size, dtype=np.uint8)
        make_stream(self.seed, WRITER, 0).fill(out, begin)
        return out.tobytes()

    def marks(self) -> dict[str, Mark]:
        """Sizes and checksums of the tree as they should be, made from the stamps, not from files."""
        return {name: mark_bytes(self.content(index)) for index, name in enumerate(self.names)}

    def large_mark(self) -> Mark:
        """Size and checksum of the large file as they should be."""
        digest = hashlib.sha256()
        for piece in self.large_pieces():
            digest.update(piece)
        return Mark(self.large_size, digest.hexdigest())

    def plant(self, top: Path, large: Path) -> None:
        """Make all of it."""
        top.mkdir()
        for folder in self.folders:
            (top / folder).mkdir()
        for index, name in enumerate(self.names):
            (top / name).write_bytes(self.content(index))
        with large.open("wb") as file:
            for piece in self.large_pieces():
                file.write(piece)


def mark_file(path: Path) -> Mark:
    """Size and checksum of a file."""
    with path.open("rb") as file:
        digest, size = hashlib.sha256(), 0
        while piece := file.read(MiB):
            digest.update(piece)
            size += len(piece)
    return Mark(size, digest.hexdigest())


def mark_tree(top: Path) -> dict[str, Mark]:
    """Sizes and checksums of all files below a folder."""
    return {name: mark_file(top / name) for name in list_files(top)}


def compare(row: str, expected: Mapping[str, object], found: Mapping[str, object]) -> None:
    """Refuse missing, additional and different files, by name."""
    kinds = {
        "missing": expected.keys() - found.keys(),
        "that should not be there": found.keys() - expected.keys(),
        "different": {name for name in expected.keys() & found.keys() if expected[name] != found[name]},
    }
    problems = [f"{len(names)} {kind}: {', '.join(sorted(names)[:SHOWN])}" for kind, names in kinds.items() if names]
    if problems:
        raise VerificationError(row, f"of {len(expected)} files " + "; ".join(problems))


def mark_bytes(content: bytes) -> Mark:
    """Size and checksum of a file's bytes."""
    return Mark(len(content), hashlib.sha256(content).hexdigest())
