"""Software in use: MPI and its I/O library, Python and its packages, the kernel."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys

from pytest_pario import mpi
from pytest_pario.environment.context import Context
from pytest_pario.environment.fingerprint import Json, Told
from pytest_pario.environment.mount import type_of

PACKAGES = ("mpi4py", "numpy", "pytest", "pytest-benchmark", "pytest-pario")
SETTINGS = (
    "ROMIO_",
    "MPIR_CVAR_ROMIO",
    "MPICH_MPIIO_",
    "OMPI_MCA_io",
    "OMPI_MCA_fs",
    "OMPI_MCA_fcoll",
    "OMPI_MCA_fbtl",
    "OMPI_MCA_sharedfp",
    "I_MPI_EXTRA_FILESYSTEM",
    "DARSHAN_",
)
"""Beginnings of the names of environment variables that change how MPI-IO works."""

# MPICH Device:       ch4:ucx ofi
_DEVICE = re.compile(r"^MPICH Device:\s*(.+?)\s*$", re.MULTILINE)
# Open MPI v5.0.11, package: Open MPI user@localhost Distribution, …
_OPEN_MPI = re.compile(r"Open MPI v(\d+)\.(\S+?)(?:,|\s|$)")
# mca:fs:ufs:version:"component:5.0.11"
_COMPONENT = re.compile(r'^mca:(io|fs):(\w+):version:"?component:([^"\s]+)"?$', re.MULTILINE)
# PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
_OS = re.compile(r'^PRETTY_NAME="?(.*?)"?$', re.MULTILINE)


def collect(context: Context) -> dict[str, Told]:
    """Versions of what takes part; MPI is asked only where it has been initialised already."""
    told = {
        "python": Told(platform.python_version(), "sys"),
        "kernel": Told(platform.release(), "uname"),
    }
    name = _OS.search(context.read("/etc/os-release") or "")
    if name:
        told["os"] = Told(name[1], "/etc/os-release")
    for package in PACKAGES:
        version = _version(package)
        if version:
            told[package.replace("-", "_")] = Told(version, "package metadata")
    settings: dict[str, Json] = {k: v for k, v in sorted(context.environment.items()) if k.startswith(SETTINGS)}
    told["io_environment"] = Told(settings, "environment")
    library = library_text()
    if library:
        told |= _library(library)
    return told | describe_io(context, library)


def library_text() -> str:
    """All that the MPI library says of itself; empty where MPI is not in use in this process."""
    module = mpi.load() if "mpi4py.MPI" in sys.modules else None
    return str(module.Get_library_version()).strip().strip("\0") if module and module.Is_initialized() else ""


def _library(text: str) -> dict[str, Told]:
    first = " ".join(text.splitlines()[0].partition(",")[0].split())
    told = {"mpi_library": Told(first, "MPI_Get_library_version")}
    device = _DEVICE.search(text)
    if device:
        told["mpi_device"] = Told(device[1], "MPI_Get_library_version")
    module = mpi.load()
    if not module.Is_finalized():
        told["wtime_is_global"] = Told(bool(module.COMM_WORLD.Get_attr(module.WTIME_IS_GLOBAL)), "MPI_WTIME_IS_GLOBAL")
    return told


def describe_io(context: Context, library: str) -> dict[str, Told]:
    """Name the I/O library and its filesystem driver where hints in force or the MPI library tell them."""
    # UFS: Generic ROMIO driver for all UNIX-like file systems
    driver = context.hints.get("romio_filesystem_type", "").partition(":")[0].strip()
    if driver or any(key.startswith("romio_") for key in context.hints):
        told = {"io_library": Told("ROMIO", "hints in force")}
        return told | ({"io_driver": Told(driver, "romio_filesystem_type")} if driver else {})
    version = _OPEN_MPI.search(library)
    if version is None:
        return {}
    chosen = context.environment.get("OMPI_MCA_io", "")
    if chosen.startswith("romio"):
        return {"io_library": Told("ROMIO", "OMPI_MCA_io")}
    # before version 5 Open MPI preferred ROMIO on Lustre
    if chosen != "ompio" and (chosen or (int(version[1]) < 5 and type_of(context) == "lustre")):
        return {}
    return {"io_library": Told("OMPIO", "MPI_Get_library_version")} | _ompio_driver(
        context, f"{version[1]}.{version[2]}"
    )


def _ompio_driver(context: Context, version: str) -> dict[str, Told]:
    listed = _COMPONENT.findall(context.run("ompi_info", "--parsable") or "")
    # an ompi_info of another installation says nothing about this library
    drivers = {name for framework, name, built in listed if framework == "fs" and built == version}
    kind = type_of(context)
    chosen = kind if kind in drivers else "ufs"
    return {"io_driver": Told(chosen, "ompi_info")} if chosen in drivers else {}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
