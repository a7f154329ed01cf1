"""The checks that each task makes alone; they need an MPI library but no second task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_pario import mpi
from pytest_pario.access.calls import CALLS
from pytest_pario.access.failures import Subject, class_name, is_vague, summary
from pytest_pario.access.info import check_hints, collective_hints
from pytest_pario.access.locks import release_record_locks
from pytest_pario.access.memory import natural, resolve
from pytest_pario.access.modes import check_amode, check_direction
from pytest_pario.access.paths import check_name, check_path, local_path, resolved_path
from pytest_pario.errors import FileAccessError, ParameterError

needs_mpi = pytest.mark.skipif(mpi.unavailable_reason() is not None, reason=mpi.unavailable_reason() or "")


def codes() -> Any:
    return mpi.load()


def subject(path: object = "data") -> Subject:
    return Subject(str(path), 0)


# Numbers


@pytest.mark.parametrize("value", [-1, 1 << 63, 1.5, "7", None])
def test_numbers_that_mpi_cannot_carry(value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        natural("offset", value, "write_at")
    assert (caught.value.name, caught.value.origin) == ("offset", "write_at")


@pytest.mark.parametrize("value", [0, (1 << 63) - 1, np.int64(5), np.uint8(5)])
def test_numbers_that_it_can(value: Any) -> None:
    assert natural("offset", value, "write_at") == value


# Memory


@needs_mpi
@pytest.mark.parametrize(
    ("spec", "asked_bytes"),
    [
        (bytearray(10), 10),
        (np.zeros(5), 40),
        (np.zeros((2, 3), order="F"), 48),
        (np.zeros(3, dtype="M8[s]"), 24),
        ([bytearray(10), 4], 4),
        ([bytearray(10), "B"], 10),
        ([bytearray(16), 2, "d"], 16),
        ((bytearray(0), 0, "d"), 0),
        (None, 0),
    ],
    ids=repr,
)
def test_buffers_of_all_forms(spec: Any, asked_bytes: int) -> None:
    assert resolve(spec, "write", writable=False).asked_bytes == asked_bytes


@needs_mpi
@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (7, "buffer"),
        (np.zeros((4, 4))[:, ::2], "buffer"),
        ([bytearray(10), 11, "B"], "buffer length"),
        ([bytearray(10), "d"], "buffer length"),
        ([bytearray(10), -1, "B"], "count"),
        ([bytearray(10), 1, "no such code"], "datatype"),
        ([bytearray(10), 1, 3.5], "datatype"),
        ([bytearray(10), 1, "B", 2], "buffer"),
        ([], "buffer"),
    ],
    ids=repr,
)
def test_buffers_that_are_refused(spec: Any, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        resolve(spec, "write", writable=False)
    assert caught.value.name == name


@needs_mpi
def test_reading_needs_a_buffer_that_can_be_written() -> None:
    with pytest.raises(ParameterError, match="writable"):
        resolve(b"constant", "read", writable=True)


@needs_mpi
def test_gaps_of_a_datatype_need_room_but_are_not_moved() -> None:
    """Two blocks of 4 B, 8 B apart: 12 B of memory for one element, 8 B moved."""
    kind = codes().BYTE.Create_vector(2, 4, 8)
    assert resolve([bytearray(12), 1, kind], "write", writable=False).asked_bytes == 8
    with pytest.raises(ParameterError, match="12 B or more"):
        resolve([bytearray(11), 1, kind], "write", writable=False)


@needs_mpi
def test_elements_before_the_buffer_are_refused() -> None:
    kind = codes().BYTE.Create_hindexed([4], [-4])
    with pytest.raises(ParameterError, match="buffer length"):
        resolve([bytearray(100), 1, kind], "write", writable=False)


# Access modes


@needs_mpi
@pytest.mark.parametrize(
    "names",
    [
        (),
        ("RDONLY", "RDWR"),
        ("RDONLY", "CREATE"),
        ("RDONLY", "EXCL"),
        ("RDWR", "SEQUENTIAL"),
    ],
)
def test_access_modes_that_contradict_themselves(names: tuple[str, ...]) -> None:
    with pytest.raises(FileAccessError) as caught:
        check_amode(subject(), sum(getattr(codes(), f"MODE_{name}") for name in names))
    assert caught.value.error_class == "ERR_AMODE"


@needs_mpi
@pytest.mark.parametrize("amode", [1 << 20, "r"])
def test_access_modes_that_are_none(amode: Any) -> None:
    with pytest.raises(FileAccessError, match="ERR_AMODE"):
        check_amode(subject(), amode)


@needs_mpi
@pytest.mark.parametrize(
    ("call", "mode", "error_class"),
    [
        ("write_at_all", "MODE_RDONLY", "ERR_READ_ONLY"),
        ("read_shared", "MODE_WRONLY", "ERR_ACCESS"),
        ("write", "MODE_SEQUENTIAL", "ERR_UNSUPPORTED_OPERATION"),
    ],
)
def test_calls_that_the_mode_forbids(call: str, mode: str, error_class: str) -> None:
    with pytest.raises(FileAccessError) as caught:
        check_direction(subject(), CALLS[call], getattr(codes(), mode))
    assert caught.value.error_class == error_class


# Names of files


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/b", "/a/b"), ("ufs:/a/b", "/a/b"), ("c:d", "c:d"), ("daos:/x", None), ("gpfs:", "gpfs:")],
)
def test_driver_prefixes(path: str, expected: str | None) -> None:
    assert local_path(path) == expected


@pytest.mark.parametrize("path", ["", "a\0b", 7, None, b"bytes"])
def test_things_that_are_no_name(path: object) -> None:
    with pytest.raises(ParameterError):
        check_name(path)


def test_links_resolve_to_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert resolved_path(str(tmp_path / "link")) == resolved_path(f"ufs:{tmp_path}/data")


@needs_mpi
def test_files_that_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "data"
    check_path(subject(path), codes().MODE_CREATE | codes().MODE_RDWR)
    path.touch()
    check_path(subject(path), codes().MODE_RDONLY)
    check_path(subject("daos:/not/posix"), codes().MODE_RDONLY)


@needs_mpi
@pytest.mark.parametrize(
    ("path", "mode", "error_class"),
    [
        ("absent", "MODE_RDONLY", "ERR_NO_SUCH_FILE"),
        ("absent/data", "MODE_CREATE", "ERR_NO_SUCH_FILE"),
        (".", "MODE_RDWR", "ERR_BAD_FILE"),
        ("file/data", "MODE_CREATE", "ERR_BAD_FILE"),
        ("n" * 300, "MODE_CREATE", "ERR_BAD_FILE"),
    ],
)
def test_files_that_cannot(tmp_path: Path, path: str, mode: str, error_class: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileAccessError) as caught:
        check_path(subject(tmp_path / path), getattr(codes(), mode) | codes().MODE_RDWR)
    assert caught.value.error_class == error_class


@needs_mpi
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write every file")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.touch(0o400)
    check_path(subject(path), codes().MODE_RDONLY)
    with pytest.raises(FileAccessError, match="ERR_ACCESS"):
        check_path(subject(path), codes().MODE_RDWR)


def test_releasing_locks_of_a_missing_file_does_no_harm(tmp_path: Path) -> None:
    release_record_locks(str(tmp_path / "absent"))


# Hints


@needs_mpi
@pytest.mark.parametrize("hints", [{"": "1"}, {"cb_nodes": 4}, {"k" * 2000: "1"}, {"key": "v" * 20000}, ["cb_nodes"]])
def test_hints_that_mpi_cannot_take(hints: Any) -> None:
    with pytest.raises(ParameterError, match="info"):
        check_hints(hints, "open")


@needs_mpi
def test_only_collective_hints_must_agree() -> None:
    """GPFS-51."""
    hints = {"striping_unit": "65536", "cb_nodes": "2", "ind_rd_buffer_size": "1"}
    assert collective_hints(hints) == [("cb_nodes", "2"), ("striping_unit", "65536")]
    assert collective_hints(codes().INFO_NULL) == collective_hints(None) == []


# What the library says


@needs_mpi
def test_names_of_error_classes() -> None:
    assert class_name(codes().ERR_NO_SUCH_FILE) == "ERR_NO_SUCH_FILE"
    assert class_name(codes().ERR_UNKNOWN) == "ERR_UNKNOWN"
    assert class_name(987654) == "ERR_CLASS_987654"


@needs_mpi
def test_mpi_exceptions_keep_their_class_and_cause() -> None:
    cause = codes().Exception(codes().ERR_NO_SPACE)
    error = subject("data").translate("write", cause)
    assert isinstance(error, FileAccessError)
    assert (error.operation, error.path, error.error_class) == ("write", "data", "ERR_NO_SPACE")
    assert error.__cause__ is cause
    other = KeyError("x")
    assert subject().translate("write", other) is other


def test_text_of_a_stack_is_its_first_and_last_line() -> None:
    # as MPICH writes it
    text = (
        "Other I/O error , error stack:\ninternal_File_write(8): failed\nADIOI_GEN_WRITECONTIG(80)....: File too large"
    )
    assert summary(text) == "Other I/O error [ADIOI_GEN_WRITECONTIG(80): File too large]"
    assert summary("MPI_ERR_OTHER: known error not in list") == "MPI_ERR_OTHER: known error not in list"
    assert summary("") == "no text"


@pytest.mark.parametrize(
    ("error_class", "text", "expected"),
    [
        ("ERR_OTHER", "Other MPI error", True),
        ("ERR_IO", "Other I/O error [ADIO_OPEN(236): open failed on a remote node]", True),
        ("ERR_IO", "Other I/O error [(unknown)(): Other I/O error]", True),
        ("ERR_IO", "No space left on device", False),
    ],
)
def test_errors_that_may_be_echoes(error_class: str, text: str, expected: bool) -> None:
    assert is_vague(subject().refusal("open", error_class, text)) is expected
    assert not is_vague(ValueError())
