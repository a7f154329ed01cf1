"""ERR-05: an access mode that contradicts itself, on the last task."""

from stage import CREATE, LAST, MPI, attempt, open_file

attempt(lambda: open_file(amode=CREATE | MPI.MODE_RDONLY if LAST else CREATE))
