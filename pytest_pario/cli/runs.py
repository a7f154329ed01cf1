"""`pario run` and `pario doctor`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_runs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Offer them."""
    run = commands.add_parser(
        "run",
        allow_abbrev=False,
        help="run pytest on N ranks; after a crash or a deadlock report it and go on with the rest",
        usage="pario run -n N [--mpiexec CMD] [--journal FILE | --resume FILE] [pytest arguments]",
    )
    run.add_argument("-n", dest="ranks", type=int, required=True, metavar="N", help="number of ranks")
    run.add_argument("--mpiexec", metavar="CMD", help='launcher and its options, such as "srun --mpi=pmi2"')
    run.add_argument("--journal", type=Path, metavar="FILE", help="journal to write (default .pario/DATE-PID.jsonl)")
    run.add_argument("--resume", type=Path, metavar="FILE", help="go on with the journal of an earlier run")
    run.set_defaults(handler=_run, takes_rest=True)

    doctor = commands.add_parser("doctor", help="what this machine and this filesystem can do, with cures")
    doctor.add_argument("--dir", type=Path, metavar="PATH", help="directory on the filesystem under test")
    doctor.add_argument("--mpiexec", metavar="CMD", help="launcher and its options")
    doctor.set_defaults(handler=_doctor)


def _run(arguments: argparse.Namespace, rest: list[str]) -> int:
    from pytest_pario.session.launcher import find_launcher
    from pytest_pario.session.supervisor import supervise

    return supervise(
        find_launcher(arguments.mpiexec, arguments.ranks), arguments.ranks, rest, arguments.journal, arguments.resume
    )


def _doctor(arguments: argparse.Namespace, _rest: list[str]) -> int:
    from pytest_pario.session.doctor import examine

    diagnosis = examine(arguments.dir, arguments.mpiexec)
    print("\n".join(diagnosis.lines))
    return 0 if diagnosis.healthy else 1
