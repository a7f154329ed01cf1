"""The table of all facts that a fingerprint can hold.

A collector adds the facts it finds and is silent otherwise. A fingerprint annotates a history and never splits it; only
the few facts of the role `identity` say that two runs measured different things.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["identity", "setting", "state"]
"""identity: two runs must agree on it to be compared. setting: a change is worth a note and may explain a change of
bandwidth. state: differs from run to run by nature and is never called a change."""


@dataclass(frozen=True)
class Fact:
    """A row of the table."""

    name: str
    group: str
    """Heading under which it is shown."""
    unit: str
    """B for bytes, empty for counts, words and yes or no."""
    role: Role
    meaning: str
    """One sentence."""

    @property
    def must_match(self) -> bool:
        """Whether two runs must agree on it to be compared."""
        return self.role == "identity"


# fmt: off
_TABLE: Mapping[str, tuple[tuple[Role, str, str, str], ...]] = {
    "run": (
        ("identity", "machine",                 "",  "The name that the operator gave to the machine."),
        ("identity", "ranks",                   "",  "Number of MPI ranks of the job."),
        ("identity", "ranks_per_node",          "",  "Ranks on each node; a list, largest first, where nodes differ."),
        ("setting",  "nodes",                   "",  "Number of different host names of the ranks."),
        ("state",    "hostnames",               "",  "The different host names of the ranks, sorted."),
        ("setting",  "oversubscribed",          "",  "A node has more ranks than the cores they may use."),
        ("state",    "directory",               "",  "The directory under test, with symbolic links resolved."),
    ),
    "filesystem": (
        ("identity", "filesystem_type",         "",  "Type of the filesystem as the kernel names it."),
        ("setting",  "filesystem_source",       "",  "Device, server or volume that is mounted."),
        ("setting",  "mount_point",             "",  "Where it is mounted."),
        ("state",    "total_bytes",             "B", "Size of the filesystem."),
        ("state",    "free_bytes",              "B", "Space that this user may still fill."),
        ("setting",  "block_bytes",             "B", "Block size that statvfs gives."),
        ("setting",  "preferred_io_bytes",      "B", "Preferred size of a transfer, st_blksize of the directory."),
        ("setting",  "mount_options",           "",  "Options of the mount, sorted."),
        ("setting",  "filesystem_options",      "",  "Options of the superblock, without addresses of clients."),
        ("setting",  "mount_root",              "",  "Directory of the filesystem that is mounted: / or a subtree."),
        ("setting",  "filesystem_magic",        "",  "The f_type number of statfs, in hexadecimal."),
        ("state",    "total_inodes",            "",  "Number of files that it can hold; 0 where there is no limit."),
        ("state",    "free_inodes",             "",  "Number of files that this user may still create."),
    ),
    "striping": (
        ("setting",  "stripe_unit_bytes",       "B", "Contiguous bytes of a new file on one I/O node."),
        ("setting",  "stripe_factor",           "",  "Number of I/O nodes over which a new file is striped."),
        ("setting",  "stripe_pattern",          "",  "How a new file is spread, in the word of the filesystem."),
        ("setting",  "stripe_pool",             "",  "Pool of storage targets that new files go to; empty for none."),
        ("setting",  "stripe_components",       "",  "Components of a composite layout, in order of their extents."),
    ),
    "servers": (
        ("setting",  "lustre_version",          "",  "Version of the Lustre client."),
        ("setting",  "lustre_osts",             "",  "Number of object storage targets that are active."),
        ("setting",  "gpfs_version",            "",  "Build of the GPFS daemon on this node."),
        ("setting",  "gpfs_format",             "",  "Format version of the filesystem."),
        ("setting",  "gpfs_subblock_bytes",     "B", "Smallest piece of a block that can be allocated."),
        ("setting",  "gpfs_pagepool_bytes",     "B", "GPFS's own cache on this node."),
        ("setting",  "gpfs_data_replicas",      "",  "Copies kept of the data of a new file."),
        ("setting",  "gpfs_pools",              "",  "Storage pools that hold data, with the number of disks in use."),
        ("setting",  "beegfs_version",          "",  "Version of the BeeGFS client module."),
        ("setting",  "gluster_version",         "",  "Version of the GlusterFS client."),
        ("setting",  "gluster_volume_type",     "",  "How the volume spreads its files, such as Distribute."),
        ("setting",  "gluster_bricks",          "",  "Number of bricks of the volume."),
        ("setting",  "gluster_shard_bytes",     "B", "Size of the shards of a file; 0 where files are kept whole."),
        ("setting",  "gluster_options",         "",  "Options of the volume that differ from their defaults."),
        ("setting",  "nfs_version",             "",  "Version of the NFS protocol in use."),
        ("setting",  "nfs_read_bytes",          "B", "Largest read request, rsize."),
        ("setting",  "nfs_write_bytes",         "B", "Largest write request, wsize."),
        ("setting",  "nfs_transport",           "",  "tcp, udp or rdma."),
        ("setting",  "nfs_connections",         "",  "Connections to the server, nconnect."),
        ("setting",  "nfs_sync",                "",  "Every write goes to the server before it returns."),
        ("setting",  "nfs_attribute_cache",     "",  "The client may cache attributes; MPI-IO needs noac on NFS."),
        ("setting",  "nfs_locks",               "",  "Whom locks bind: server, or local for this node only."),
        ("setting",  "orangefs_distribution",   "",  "Name of the distribution of new files."),
    ),
    "device": (
        ("state",    "device_name",             "",  "Name of the block device in the kernel."),
        ("setting",  "device_model",            "",  "Model that the block device reports."),
        ("setting",  "device_rotational",       "",  "The device turns; false for flash and for most virtual disks."),
        ("setting",  "device_scheduler",        "",  "I/O scheduler in force."),
        ("setting",  "device_read_ahead_bytes", "B", "Read-ahead of the device."),
        ("setting",  "tmpfs_limit_bytes",       "B", "Size to which the memory filesystem may grow."),
        ("setting",  "ext4_features",           "",  "Features of the ext filesystem, sorted."),
        ("setting",  "ext4_stride_bytes",       "B", "RAID stride that the ext filesystem was made for; 0 for none."),
        ("setting",  "xfs_groups",              "",  "Allocation groups of the XFS filesystem."),
        ("setting",  "xfs_stripe_unit_bytes",   "B", "RAID stripe unit that XFS was made for; 0 for none."),
        ("setting",  "xfs_stripe_width_bytes",  "B", "RAID stripe width that XFS was made for; 0 for none."),
    ),
    "software": (
        ("setting",  "mpi_library",             "",  "What the MPI library says of itself, first line."),
        ("setting",  "mpi_device",              "",  "Communication device that MPICH was built with."),
        ("setting",  "io_library",              "",  "ROMIO or OMPIO, where it can be told."),
        ("setting",  "io_driver",               "",  "Filesystem driver of the MPI-IO library."),
        ("setting",  "io_environment",          "",  "Environment variables that change how MPI-IO works."),
        ("setting",  "wtime_is_global",         "",  "MPI_Wtime is synchronised over the ranks."),
        ("setting",  "mpi4py",                  "",  "Version of mpi4py."),
        ("setting",  "numpy",                   "",  "Version of numpy."),
        ("setting",  "python",                  "",  "Version of Python."),
        ("setting",  "pytest",                  "",  "Version of pytest."),
        ("setting",  "pytest_benchmark",        "",  "Version of pytest-benchmark."),
        ("setting",  "pytest_pario",            "",  "Version of this package."),
        ("setting",  "kernel",                  "",  "Release of the kernel."),
        ("setting",  "os",                      "",  "Name of the distribution."),
    ),
    "machine": (
        ("setting",  "cpu_model",               "",  "Model of the processor."),
        ("setting",  "cpus",                    "",  "Processors that are online."),
        ("setting",  "cores_available",         "",  "Processors that the ranks here may use: affinity and quota."),
        ("state",    "memory_bytes",            "B", "Memory of this node; kernels take a varying part of it."),
        ("state",    "memory_available_bytes",  "B", "Memory that programs could still get."),
        ("setting",  "memory_limit_bytes",      "B", "Memory limit of the control group, page cache included."),
        ("setting",  "clock_source",            "",  "Clock of the kernel."),
    ),
    "load": (
        ("state",    "load_average",            "",  "Processes that ran or waited, mean of one minute."),
        ("state",    "other_cpu_share",         "",  "Part of this node's processor time that others took."),
        ("state",    "steal_share",             "",  "Part of the processor time that the hypervisor withheld."),
        ("state",    "polluted",                "",  "Others used so much of the node that the numbers suffer."),
    ),
    "errors": (
        ("state",    "collector_errors",        "",  "Collectors and tools that failed or gave no answer, and why."),
    ),
}
# fmt: on

FACTS: tuple[Fact, ...] = tuple(
    Fact(name, group, unit, role, meaning) for group, rows in _TABLE.items() for role, name, unit, meaning in rows
)
KNOWN: Mapping[str, Fact] = {fact.name: fact for fact in FACTS}
SITE = "site."
"""Facts that a site adds itself begin with this word."""


def fact_named(name: str) -> Fact:
    """The row of a fact; a name that the table lacks (a site's own, or of another version) is a setting."""
    return KNOWN.get(name) or Fact(name, "site", "", "setting", "Given by the site or by another version.")
