from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.environment.stripe import Striping, striping
from pytest_pario.errors import ParameterError, StripeUnknownError
from tests.unit.environment.answers import Answers

LUSTRE = {"lfs getstripe -d /scratch/bench": "lfs_getstripe_dir"}


def test_parameters_come_first() -> None:
    found = striping("/scratch/bench", 65536, 4, context=Answers("/scratch/bench", tools=LUSTRE))
    assert (found.unit, found.factor) == (65536, 4)
    assert found.source == "parameter striping_unit, parameter striping_factor"


@pytest.mark.parametrize(("unit", "factor"), [(0, 4), (-1, 4), (65536, 0), (True, 4), (1.5, 4)])
def test_parameters_are_checked(unit: int, factor: int, tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        striping(tmp_path, unit, factor)


@pytest.mark.parametrize(
    ("directory", "tools", "unit", "factor"),
    [
        ("/scratch/bench", LUSTRE, 1 << 20, 4),
        ("/mnt/beegfs/x", {"beegfs-ctl --getentryinfo /mnt/beegfs/x": "beegfs_ctl_dir"}, 512 << 10, 4),
        ("/mnt/orange/x", {"pvfs2-viewdist -f /mnt/orange/x": "pvfs2_viewdist"}, 131072, 4),
        ("/gpfs/fs1/x", {"mmlsfs fs1 -Y": "mmlsfs_fields", "mmlsdisk fs1 -Y": "mmlsdisk"}, 8 << 20, 3),
    ],
)
def test_the_filesystem_tells(directory: str, tools: dict[str, str], unit: int, factor: int) -> None:
    found = striping(directory, context=Answers(directory, tools=tools))
    assert (found.unit, found.factor) == (unit, factor)


def test_one_parameter_and_the_filesystem() -> None:
    found = striping("/scratch/bench", factor=2, context=Answers("/scratch/bench", tools=LUSTRE))
    assert found == Striping(1 << 20, 2, "lfs getstripe, parameter striping_factor")


HINTS = {"striping_unit": "1048576", "striping_factor": "8"}


def test_hints_of_a_driver_that_fills_them_in() -> None:
    hints = {**HINTS, "romio_filesystem_type": "LUSTRE:"}
    found = striping("/scratch/x", context=Answers("/scratch/x", hints=hints))
    assert found == Striping(1 << 20, 8, "hints of LUSTRE")


@pytest.mark.parametrize(
    ("directory", "driver"),
    [
        # RES-02: on a local filesystem the library echoes whatever the user asked for
        ("/tmp", "UFS: Generic ROMIO driver for all UNIX-like file systems"),
        ("/tmp", "LUSTRE:"),
        ("/scratch/x", "UFS: Generic ROMIO driver for all UNIX-like file systems"),
        ("/scratch/x", ""),
        ("/mnt/pfs/x", "UFS: Generic ROMIO driver for all UNIX-like file systems"),
    ],
)
def test_echoed_hints_are_no_evidence(directory: str, driver: str) -> None:
    hints = {**HINTS, "romio_filesystem_type": driver}
    with pytest.raises(StripeUnknownError):  # ERR-11
        striping(directory, context=Answers(directory, hints=hints))


@pytest.mark.parametrize(
    ("directory", "tools", "unit", "text"),
    [
        (
            "/tmp",
            {},
            None,
            "/tmp (ext4): a filesystem of this type has no round-robin striping to ask for; "
            "give striping_unit and striping_factor",
        ),
        (
            "/scratch/bench",
            {"lfs getstripe -d /scratch/bench": "lfs_getstripe_pfl"},
            None,
            "/scratch/bench (lustre): the layout is composite, in 3 parts with a striping of their own; "
            "give striping_unit and striping_factor",
        ),
        (
            "/scratch/bench",
            {"lfs getstripe -d /scratch/bench": "lfs_getstripe_overstriped"},
            65536,
            "/scratch/bench (lustre): its pattern is raid0,overstriped; give striping_factor",
        ),
        ("/gpfs/fs1", {}, 65536, "/gpfs/fs1 (gpfs): its tools did not tell; give striping_factor"),
    ],
)
def test_unknown_says_why_and_what_to_give(directory: str, tools: dict[str, str], unit: int | None, text: str) -> None:
    with pytest.raises(StripeUnknownError) as caught:
        striping(directory, unit, context=Answers(directory, tools=tools))
    assert str(caught.value) == text


def test_this_machine_is_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(StripeUnknownError):
        striping(tmp_path, hints=HINTS)
