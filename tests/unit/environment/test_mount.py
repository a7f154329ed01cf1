from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario.environment.context import Context
from pytest_pario.environment.mount import collect, longest_match, mount_of, parse_mounts, type_of
from tests.unit.environment.answers import Answers, recorded


@pytest.mark.parametrize(
    ("directory", "number"),
    [
        ("/", 22),
        ("/tmp/x", 22),
        ("/scratch", 40),
        ("/scratch/bench", 40),
        ("/scratchy", 22),
        ("/scratch2/tmp/x", 66),
        ("/home", 50),
        ("/home/ada/run", 51),
        ("/mnt/direct/run", 53),
        ("/srv/bound/x", 61),
        (r"/mnt/my data\x/run", 62),
        ("/var/lib/c/merged/x", 63),
        ("/mnt/btr", 64),
    ],
)
def test_longest_mount(directory: str, number: int) -> None:
    found = longest_match(parse_mounts(recorded("mountinfo")), directory)
    assert found is not None
    assert found.id == number


def test_the_kernel_knows_better_than_the_longest_name() -> None:
    class Hidden(Answers):
        def mount_id(self, path: str) -> int | None:
            return 22

    found = mount_of(Hidden("/scratch/bench"))
    assert found is not None
    assert found.point == "/"


def test_a_bind_mount_names_its_root() -> None:
    told = collect(Answers("/srv/bound"))
    assert told["mount_root"].value == "/projects/a"
    assert told["mount_point"].value == "/srv/bound"
    assert told["filesystem_source"].value == "/dev/sdc1"


def test_spaces_and_backslashes() -> None:
    assert collect(Answers(r"/mnt/my data\x"))["mount_root"].value == r"/var/my data\x"


def test_addresses_and_directories_of_containers_are_no_settings() -> None:
    options = collect(Answers("/home/ada"))["filesystem_options"].value
    assert isinstance(options, list)
    assert "nconnect=4" in options
    assert not [option for option in options if "addr=" in str(option)]
    assert collect(Answers("/var/lib/c/merged"))["filesystem_options"].value == ["rw", "xino=off"]


def test_without_mountinfo_the_magic_number_tells_the_type() -> None:
    class Magic(Answers):
        def magic(self, path: str) -> int | None:
            return 0x0BD00BD0

    context = Magic("/scratch", files={"/proc/self/mountinfo": ""})
    told = collect(context)
    assert told["filesystem_type"] == ("lustre", "statfs")
    assert told["filesystem_magic"].value == "0xbd00bd0"
    assert "mount_point" not in told


def test_nothing_known_is_silence() -> None:
    context = Answers("/scratch", files={"/proc/self/mountinfo": ""})
    assert set(collect(context)) == {"directory"}
    assert type_of(context) is None


def test_this_machine(tmp_path: Path) -> None:
    told = collect(Context(tmp_path))
    free, total = told["free_bytes"].value, told["total_bytes"].value
    assert isinstance(free, int)
    assert isinstance(total, int)
    assert 0 <= free <= total
    assert str(tmp_path).startswith(str(told["mount_point"].value))
    assert collect(Context("/proc"))["filesystem_type"].value == "proc"
