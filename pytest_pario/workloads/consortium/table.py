"""The parameters of the Consortium's suite, in one table."""

from __future__ import annotations

from pytest_pario.units import GiB, KiB, MiB
from pytest_pario.workloads.kinds import Choice, FileName, Flag, Size, Whole
from pytest_pario.workloads.parameters import Parameter, Table

MOST_FILES = 1_000_000

# fmt: off
STANDARD = (  # CONS-55
    Parameter("filename",        FileName(), None,  "name of the single file that is operated on"),
    Parameter("collective",      Flag(),     False, "non-zero: collective calls"),
    Parameter("header_bytes",    Size(0),    0,     "bytes at the beginning of the file that shift alignment"),
)

PATTERNS = (  # CONS-10..13, in the words of CONS-17..21
    Parameter("block_size",      Size(1),    None,  "contiguous bytes of one client, one or more transfers"),
    Parameter("segments",        Whole(1),   None,  "how often the blocks of all clients follow each other"),
    Parameter("padding",         Size(0),    None,  "bytes skipped after each segment"),
    Parameter("min_transfer",    Size(0),    None,  "smallest transfer of random patterns; 0 allows empty ones"),
    Parameter("max_transfer",    Size(1),    None,  "largest transfer of random patterns"),
    Parameter("seed",            Whole(0),   None,  "seed of the sizes of random patterns"),
    Parameter("direct",          Flag(),     False, "non-zero: POSIX calls past the page cache (O_DIRECT)"),
)

CLASSES = (  # CONS-46, OQ-4
    Parameter("allocation", Choice(("new", "preallocated")), "new", "space of sustained writes: new, or preallocated"),
    Parameter("cache_bytes",     Size(1),    None,  "bytes of the caches on the way, for the flag not_large"),
    Parameter("large_factor",    Whole(1),   20,    "how many times the caches a large amount is"),
)

TILES = (  # CONS-58
    Parameter("nr_tiles_x",      Whole(1),   1,     "tiles in X, the dimension that varies fastest"),
    Parameter("nr_tiles_y",      Whole(1),   1,     "tiles in Y"),
    Parameter("sz_tile_x",       Whole(1),   1024,  "elements of a tile in X"),
    Parameter("sz_tile_y",       Whole(1),   1024,  "elements of a tile in Y"),
    Parameter("sz_element",      Size(1),    3,     "bytes of an element"),
    Parameter("overlap_x",       Whole(0),   0,     "elements that neighbours in X share"),
    Parameter("overlap_y",       Whole(0),   0,     "elements that neighbours in Y share"),
    Parameter("write_file",      Flag(),     False, "non-zero: write the tiles in place of reading them"),
)

INTERACTIVE = (  # CONS-69
    Parameter("files",       Whole(1, MOST_FILES), 24,       "files of the tree that is copied, listed, packed …"),
    Parameter("size",        Size(0, GiB),         4 * KiB,  "bytes of each file of the tree"),
    Parameter("large_size",  Size(1, 64 * GiB),    8 * MiB,  "bytes of the one large file"),
    Parameter("depth",       Whole(0, 32),         2,        "levels of folders below the top of the tree"),
    Parameter("repetitions", Whole(1, 1000),       3,        "how often each operation is measured"),
    Parameter("tool",        Choice(("default", "cp", "dd", "rsync", "ls", "find", "stat", "tar", "rm")), "default",
              "the program that carries out an operation"),
)

SMALL_FILES = (  # CONS-71
    Parameter("files_per_client", Whole(1, MOST_FILES),  32,      "files of each client"),
    Parameter("file_size",        Size(0, GiB),          4 * KiB, "bytes of each file"),
    Parameter("transfer_size",    Size(0),               0,       "bytes of one call; 0 moves a block or file in one"),
    Parameter("directory",        Choice(("shared", "own")), "shared", "one folder for all clients, or one for each"),
)

METADATA = (  # CONS-73
    Parameter("metadata_files",   Whole(1, MOST_FILES),  8,       "files to open and delete, sizes to set"),
)
# fmt: on

ROWS = (*STANDARD, *PATTERNS, *CLASSES, *TILES, *INTERACTIVE, *SMALL_FILES, *METADATA)
TABLE = Table(ROWS)
