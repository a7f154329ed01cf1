"""`pario bench`: what the harness itself costs."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Offer all of them."""
    bench = commands.add_parser("bench", help="what the harness itself costs, as ratios")
    benches = bench.add_subparsers(dest="bench", required=True, metavar="WHAT")
    _add_patterns(benches)
    _add_beff(benches)
    _add_strategies(benches)
    _add_verdict(benches)
    _add_session(benches)
    _add_loop(benches)
    _add_bt(benches)


def _add_patterns(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    patterns = benches.add_parser("patterns", help="GB/s of stamps and verifiers, extents/s of layouts, on one core")
    patterns.set_defaults(handler=_bench_patterns)


def _add_beff(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    beff = benches.add_parser("beffio", help="what b_eff_io loses to barriers and broadcasts; scheduled against actual")
    beff.add_argument("--ranks", type=int, default=4, metavar="N")
    beff.add_argument("--time", type=float, default=10.0, metavar="SECONDS", help="T of each of two runs (default 10)")
    beff.add_argument("--dir", default=".", metavar="DIR", help="directory on the filesystem under test")
    beff.add_argument("--limit", metavar="BYTES", help="most bytes of a time-driven pattern, such as 64M")
    beff.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    beff.set_defaults(handler=_bench_beffio)


def _add_strategies(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    strategies = benches.add_parser("strategies", help="each collective strategy against the library's collective call")
    strategies.add_argument(
        "--dir", dest="directories", nargs="+", default=[], metavar="DIR", help="where to put the file"
    )
    strategies.add_argument("--ranks", type=int, default=4, metavar="N", help="(default 4)")
    strategies.add_argument("--repeat", type=int, default=15, metavar="K", help="alternating repetitions (default 15)")
    strategies.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    strategies.set_defaults(handler=_bench_strategies)


def _add_verdict(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verdict = benches.add_parser(
        "verdict", help="false alarms and detection on recorded nights, beside other tools' rules"
    )
    verdict.add_argument(
        "--data", type=Path, metavar="DIR", help="CSV files of nights (default: noise shipped with it)"
    )
    verdict.add_argument(
        "--live", type=Path, metavar="DIR", help="instead: a real slowdown below DIR, found and undone"
    )
    verdict.add_argument("--record", type=Path, nargs="+", metavar="FILE DIR", help="instead: record noise below DIRs")
    verdict.add_argument("--nights", type=int, default=20, metavar="K", help="of --live and --record (default 20)")
    verdict.add_argument(
        "--suite",
        nargs="+",
        default=[],
        metavar="ARG",
        help="pytest arguments: only that unchanged nights of it stay green",
    )
    verdict.add_argument("--ranks", type=int, default=2, metavar="N", help="of --live (default 2)")
    verdict.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    verdict.set_defaults(handler=_bench_verdict)


def _add_session(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    session = benches.add_parser("session", help="60 empty tests here and under stock pytest with pytest-mpi")
    session.add_argument("--ranks", type=int, nargs="+", default=[1, 4, 16], metavar="N")
    session.add_argument("--repeat", type=int, default=5, metavar="K", help="alternating repetitions (default 5)")
    session.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    session.set_defaults(handler=_bench_session)


def _add_loop(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    loop = benches.add_parser("loop", help="CPU time per call of the measuring loops, of a loop in C and of IOR")
    loop.add_argument("--dir", dest="directories", nargs="+", default=[], metavar="DIR", help="where to put the file")
    loop.add_argument("--ior", metavar="PATH", help="IOR program to compare with")
    loop.add_argument("--ranks", type=int, nargs="+", default=[1, 2], metavar="N")
    loop.add_argument("--sizes", nargs="+", default=[], metavar="SIZE", help="transfer sizes (1KiB 32KiB 1MiB 4MiB)")
    loop.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    loop.set_defaults(handler=_bench_loop)


def _add_bt(benches: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bt = benches.add_parser("btio", help="Mop/s and CPU time of the BT solver, start-up, and the share of the FMA peak")
    bt.add_argument("--class", dest="problem", default="W", metavar="LETTER", help="class to solve (default W)")
    bt.add_argument("--ranks", type=int, nargs="+", default=[1, 4], metavar="N")
    bt.add_argument("--repeat", type=int, default=3, metavar="K", help="repetitions, of which the best counts")
    bt.add_argument("--reference", type=Path, metavar="PATH", help="BT program of this class to compare with")
    bt.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    bt.set_defaults(handler=_bench_btio)


def _bench_patterns(_arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.bench.patterns import run_patterns_bench

    return run_patterns_bench()


def _bench_beffio(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.bench.beffio import run_beffio_bench

    return run_beffio_bench(arguments.ranks, arguments.time, arguments.dir, arguments.limit, arguments.mpiexec)


def _bench_strategies(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.bench.strategies import run_strategies_bench

    return run_strategies_bench(arguments.ranks, arguments.directories, arguments.repeat, arguments.mpiexec)


def _bench_verdict(arguments: argparse.Namespace, _rest: list[str]) -> int:
    if arguments.record is not None:
        from pytest_pario.bench.verdict_record import record_noise

        return record_noise(arguments.record[0], arguments.record[1:] or [Path.cwd()], arguments.nights)
    if arguments.live is not None:
        from pytest_pario.bench.verdict_live import run_live_bench

        suite = [str(Path(one).resolve()) if Path(one).exists() else one for one in arguments.suite]
        return run_live_bench(arguments.live, arguments.nights, arguments.mpiexec, arguments.ranks, suite)
    from pytest_pario.bench.verdict import run_verdict_bench

    return run_verdict_bench(arguments.data)


def _bench_session(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.bench.session import run_session_bench

    return run_session_bench(arguments.ranks, arguments.repeat, arguments.mpiexec)


def _bench_loop(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.bench.loop import run_loop_bench

    return run_loop_bench(arguments.ranks, arguments.directories, arguments.sizes, arguments.ior, arguments.mpiexec)


def _bench_btio(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.bench.btio import run_btio_bench

    return run_btio_bench(arguments.problem, arguments.ranks, arguments.repeat, arguments.reference, arguments.mpiexec)
