from __future__ import annotations

from pytest_pario.environment.fingerprint import Json
from pytest_pario.environment.nfs import collect, describe_options, parse_options
from tests.unit.environment.answers import Answers, recorded


def facts(directory: str) -> dict[str, Json]:
    return {name: told.value for name, told in collect(Answers(directory)).items()}


def test_version_4() -> None:
    assert facts("/home/ada/run") == {
        "nfs_version": "4.2",
        "nfs_read_bytes": 1 << 20,
        "nfs_write_bytes": 1 << 20,
        "nfs_transport": "tcp",
        "nfs_connections": 4,
        "nfs_sync": False,
        "nfs_attribute_cache": True,
        "nfs_locks": "server",
    }


def test_version_3_without_caches_and_locks() -> None:
    told = facts("/mnt/direct/run")
    assert (told["nfs_version"], told["nfs_transport"]) == ("3", "udp")
    assert (told["nfs_read_bytes"], told["nfs_write_bytes"]) == (65536, 32768)
    assert (told["nfs_sync"], told["nfs_attribute_cache"], told["nfs_locks"]) == (True, False, "local")


def test_nfsstat_where_mountinfo_has_no_options() -> None:
    line = "70 22 0:70 / /mnt/rdma rw,relatime - nfs nas3:/fast rw\n"
    files = {"/proc/self/mountinfo": recorded("mountinfo") + line}
    told = collect(Answers("/mnt/rdma/x", files=files, tools={"nfsstat -m": "nfsstat_m"}))
    assert told["nfs_transport"] == ("rdma", "nfsstat -m")
    assert told["nfs_write_bytes"].value == 524288
    assert "nfs_version" not in collect(Answers("/mnt/rdma/x", files=files))


def test_minor_version_of_old_kernels() -> None:
    assert describe_options(parse_options("vers=4,minorversion=1"), "nfs4")["nfs_version"] == "4.1"
    assert describe_options(parse_options("rw"), "nfs4")["nfs_version"] == "4"


def test_silent_elsewhere() -> None:
    assert facts("/scratch") == {}
    assert facts("/home") == {}
