def test_as_many_everywhere(comm, subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert comm.allreduce(1) == comm.size


def test_more_on_last(comm, subtests):
    for number in range(2 if comm.rank < comm.size - 1 else 3):
        with subtests.test(number=number):
            print(number)


def test_next_is_clean(comm):
    comm.Barrier()
