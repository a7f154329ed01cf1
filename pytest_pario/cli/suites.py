"""Commands about the suites: `beffio`, `btio`, `sweep`, `simulate`, `resonance`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_suites(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Offer them."""
    _add_beffio(commands)
    _add_sweep(commands)
    _add_btio(commands)
    _add_simulate(commands)
    _add_resonance(commands)


def _add_beffio(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    beffio = commands.add_parser("beffio", help="runs of b_eff_io: compare them, make hint files for experiments")
    beffios = beffio.add_subparsers(dest="beffio", required=True, metavar="WHAT")
    compare = beffios.add_parser("compare", help="saved runs side by side; different definitions are refused")
    compare.add_argument("files", nargs="+", metavar="RUN.json", help="files of --benchmark-json")
    compare.set_defaults(handler=_beffio_compare)
    grid = beffios.add_parser("grid", help="write the hint files of the recommended experiments")
    grid.add_argument("--block", type=int, required=True, metavar="BYTES", help="block size of the filesystem")
    grid.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="where to write them (default: here)")
    grid.set_defaults(handler=_beffio_grid)


def _add_sweep(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sweep = commands.add_parser("sweep", help="cross a matrix of MPI hints with patterns, and recommend a set")
    sweep.add_argument("-n", dest="ranks", type=int, default=4, metavar="N", help="number of ranks (default 4)")
    sweep.add_argument("--pattern", action="append", default=[], metavar="LAYOUT:PIECE:TOTAL:coll|indep")
    sweep.add_argument("--rows", type=Path, metavar="FILE.toml", help="patterns as rows of a TOML file")
    sweep.add_argument("--hint", action="append", default=[], metavar="KEY=VALUE,VALUE", help="may be repeated")
    sweep.add_argument("--matrix", metavar="NAME", help="a ready matrix: romio-write, romio-read, ibm, ibm-as-romio")
    sweep.add_argument("--phase", action="append", choices=["write", "rewrite", "read"], help="default: write")
    sweep.add_argument("--rounds", type=int, default=5, metavar="K", help="rounds over all sets (default 5)")
    sweep.add_argument(
        "--test-rounds", type=int, default=12, metavar="K", help="fresh rounds over the best three (default 12)"
    )
    sweep.add_argument("--dir", type=Path, default=Path(), metavar="DIR", help="directory on the filesystem under test")
    sweep.add_argument(
        "--output", type=Path, metavar="DIR", help="write ROMIO_HINTS files, a b_eff_io hint file and all results here"
    )
    sweep.add_argument(
        "--confirm", type=int, nargs="?", const=5, default=0, metavar="PAIRS",
        help="run pairs of jobs with and without the ROMIO_HINTS file (5 unless told)",
    )  # fmt: skip
    sweep.add_argument(
        "--timeout", type=float, default=3600.0, metavar="SECONDS", help="limit of each job (default 3600)"
    )
    sweep.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    sweep.set_defaults(handler=_sweep)


def _add_btio(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    btio = commands.add_parser("btio", help="files of the NAS BTIO benchmark")
    actions = btio.add_subparsers(dest="action", required=True, metavar="ACTION")
    verify = actions.add_parser("verify", help="check a solution file, whoever has written it; needs no MPI")
    verify.add_argument("file", type=Path, metavar="FILE", help="such as btio.full.out")
    verify.add_argument("--class", dest="problem", metavar="LETTER", help="S, W, A … (default: by the file's size)")
    verify.add_argument(
        "--solve",
        action=argparse.BooleanOptionalAction,
        help="compute all fields anew and compare every number (default: up to class A, where numba is there)",
    )
    verify.set_defaults(handler=_btio_verify)


def _add_simulate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    simulate = commands.add_parser("simulate", help="a model of striped storage: what a scheme does on nodes you name")
    models = simulate.add_subparsers(dest="model", required=True, metavar="WHAT")
    for name, text in (
        ("resonance", "rate over segment size: independent, collective, resonant, data shipping"),
        ("interference", "two programs on the same nodes, one of which computes between its calls"),
        ("scaling", "rate relative to one process, on more and more of them"),
        ("locks", "small interleaved writes where a lock token covers a block, partitioned files among them"),
        ("prefetch", "scattered reads with and without the access-range hint"),
    ):
        model = models.add_parser(name, help=text)
        model.add_argument("--nodes", type=int, metavar="M", help="I/O nodes (default 4)")
        model.add_argument("--unit", metavar="SIZE", help="striping unit (default 64KiB)")
        model.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="any parameter of the storage"
        )
        model.set_defaults(handler=_simulate)
        if name == "resonance":
            model.add_argument("--processes", type=int, nargs="+", default=[4, 2], metavar="N")
            model.add_argument("--segments", nargs="+", default=[], metavar="SIZE", help="(default 32KiB … 1MiB)")
            model.add_argument(
                "--schemes", nargs="+", default=["independent", "collective", "resonant"], metavar="NAME"
            )
            model.add_argument("--seeds", type=int, default=3, metavar="K", help="runs that are averaged (default 3)")
        if name in ("scaling", "prefetch"):
            model.add_argument("--processes", type=int, nargs="+", default=[], metavar="N")


def _add_resonance(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    resonance = commands.add_parser("resonance", help="is a filesystem striped so that requests can be in step with it")
    actions = resonance.add_subparsers(dest="action", required=True, metavar="ACTION")
    scan = actions.add_parser("scan", help="sweep segment sizes and processes; tell the stripe that their peaks imply")
    scan.add_argument("-n", dest="ranks", type=int, default=4, metavar="N", help="most processes (default 4)")
    scan.add_argument("--dir", default=".", metavar="DIR", help="directory on the filesystem under test")
    scan.add_argument("--segments", nargs="+", default=[], metavar="SIZE", help="(default 16KiB … 1MiB)")
    scan.add_argument("--size", default="64MiB", metavar="SIZE", help="read by each process per point (default 64MiB)")
    scan.add_argument("--rounds", type=int, default=5, metavar="K", help="rounds over all segments (default 5)")
    scan.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    scan.set_defaults(handler=_resonance_scan)


def _beffio_compare(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.report.beffio_compare import compare_lines, read_saved

    print("\n".join(compare_lines([read_saved(path) for path in arguments.files])))
    return 0


def _beffio_grid(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.workloads.beffio.hintfile import recommended_grid

    for name, text in recommended_grid(arguments.block).items():
        path = arguments.output / f"{name}.hints"
        path.write_text(text, encoding="utf-8")
        print(f"written: {path}")
    return 0


def _sweep(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.sweep import SweepRequest, parse_pattern, read_rows, run_sweep
    from pytest_pario.session.sweep_job import Place
    from pytest_pario.workloads.sweep.matrix import cross, parse_matrix

    rows = read_rows(arguments.rows) if arguments.rows else ()
    given = tuple(parse_pattern(text, arguments.ranks) for text in arguments.pattern)
    request = SweepRequest(
        (*rows, *given),
        cross(parse_matrix(arguments.hint, arguments.matrix)),
        tuple(dict.fromkeys(arguments.phase or ["write"])),
        Place(arguments.ranks, arguments.dir.absolute(), arguments.mpiexec, arguments.timeout),
        arguments.rounds,
        arguments.test_rounds,
        arguments.output,
        arguments.confirm,
    )
    print("\n".join(run_sweep(request)))
    return 0


def _btio_verify(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.report.btio import inspection_lines
    from pytest_pario.workloads.btio.classes import find_class
    from pytest_pario.workloads.btio.inspection import inspect_file

    problem = find_class(arguments.problem, "--class") if arguments.problem else None
    found = inspect_file(arguments.file, problem, solve=arguments.solve)
    print("\n".join(inspection_lines(found, found.problem.name)))
    return 0 if found.verified else 1


def _simulate(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.report.simulated import simulated_lines

    print("\n".join(simulated_lines(arguments.model, vars(arguments))))
    return 0


def _resonance_scan(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.scan import SEGMENTS, ScanRequest, run_scan

    segments = [_size("--segments", text) for text in arguments.segments] or SEGMENTS
    each_bytes = _size("--size", arguments.size)
    request = ScanRequest(arguments.dir, arguments.ranks, segments, each_bytes, arguments.rounds)
    print("\n".join(run_scan(request, arguments.mpiexec)))
    return 0


def _size(option: str, text: str) -> int:
    from pytest_pario.errors import ParameterError
    from pytest_pario.units import parse_bytes

    try:
        return parse_bytes(text)
    except ValueError:
        raise ParameterError(option, text, "a size such as 64KiB", "command line") from None
