"""ERR-07: the file ends in the middle of what the last task reads."""

from stage import RANK, SIZE, attempt, make_file, open_file

make_file(SIZE * 100 - 50)
file = open_file()
attempt(lambda: file.read_at_all(RANK * 100, bytearray(100)), file)
