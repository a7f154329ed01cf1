"""GPFS-53: types of memory and file that the last task forgot to commit; the guard commits them."""

from stage import LAST, MPI, RANK, attempt, open_file

kind = MPI.BYTE.Create_vector(2, 4, 8)
if not LAST:
    kind.Commit()
file = open_file()


def write():
    file.set_view(RANK * 64, MPI.BYTE, kind)
    file.write_all([bytearray(12), 1, kind])


attempt(write, file)
