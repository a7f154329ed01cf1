from __future__ import annotations

from pathlib import Path

from pytest_pario.environment.context import Context
from pytest_pario.environment.facts import KNOWN
from pytest_pario.environment.local import collect
from tests.unit.environment.answers import Answers


def queue(place: str, scheduler: str = "none [mq-deadline] kyber bfq\n", rotational: str = "1\n") -> dict[str, str]:
    return {
        f"{place}/queue/read_ahead_kb": "128\n",
        f"{place}/queue/rotational": rotational,
        f"{place}/queue/scheduler": scheduler,
        f"{place}/device/model": "ST4000NM0035    \n",
    }


def test_xfs_on_a_partition() -> None:
    block = "/sys/dev/block/8:33"
    files = {f"{block}/uevent": "MAJOR=8\nMINOR=33\nDEVNAME=sdc1\nDEVTYPE=partition\n", **queue(f"{block}/..")}
    told = collect(Answers("/data/raid/x", files=files, tools={"xfs_info /data/raid": "xfs_info"}))
    assert {name: answer.value for name, answer in told.items()} == {
        "device_name": "sdc1",
        "device_model": "ST4000NM0035",
        "device_rotational": True,
        "device_scheduler": "mq-deadline",
        "device_read_ahead_bytes": 128 << 10,
        "xfs_groups": 32,
        "xfs_stripe_unit_bytes": 64 * 4096,
        "xfs_stripe_width_bytes": 512 * 4096,
    }


def test_ext4() -> None:
    told = collect(Answers("/tmp", tools={"tune2fs -l /dev/sda2": "tune2fs"}))
    assert told["ext4_stride_bytes"].value == 16 * 4096
    features = str(told["ext4_features"].value).split()
    assert "extent" in features
    assert "needs_recovery" not in features
    plain = collect(Answers("/tmp", tools={"tune2fs -l /dev/sda2": "tune2fs_plain"}))
    assert plain["ext4_stride_bytes"].value == 0


def test_a_device_without_a_choice_of_schedulers() -> None:
    told = collect(Answers("/tmp", files=queue("/sys/dev/block/8:2", "none\n", "0\n")))
    assert (told["device_scheduler"].value, told["device_rotational"].value) == ("none", False)


def test_btrfs_names_its_device_by_the_source() -> None:
    told = collect(Answers("/mnt/btr/x", files=queue("/sys/dev/block/8:32")))
    assert told["device_read_ahead_bytes"].value == 128 << 10


def test_tmpfs() -> None:
    assert collect(Answers("/dev/shm"))["tmpfs_limit_bytes"].value == 16384 << 10
    # a part of the memory: only statvfs knows how much that is
    assert collect(Answers("/scratch2/tmp")) == {}


def test_silent_on_networks() -> None:
    assert collect(Answers("/scratch")) == {}


def test_this_machine(tmp_path: Path) -> None:
    assert set(collect(Context(tmp_path))) <= set(KNOWN)
    assert "tmpfs_limit_bytes" in collect(Context("/dev/shm"))
