import pytest

from roost.flow import Flow, Step


class Broken(Exception):
    pass


def boot(run=lambda do, work: do(work)):
    def claim(work):
        work.setdefault("claim", 1)

    def release(work):
        work.pop("claim", None)

    def create(work):
        work.setdefault("row", 1)

    def bury(work):
        work.pop("row", None)

    def hand_over(work):
        work["handed"] = True

    return Flow("boot", lambda: [Step(claim, release), Step(create, bury), Step(hand_over)], run)


def failing_at(name, *, after):
    def run(do, work):
        if do.__name__ == name and not after:
            raise Broken
        do(work)
        if do.__name__ == name:
            raise Broken

    return run


def twice(do, work):
    do(work)
    do(work)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["claim", "create"])
def test_a_flow_that_fails_anywhere_leaves_nothing(name, after):
    work = {}
    with pytest.raises(Broken):
        boot(failing_at(name, after=after))(work)
    assert work == {}


def test_an_undo_that_fails_does_not_stop_the_others():
    work = {}

    def run(do, work):
        if do.__name__ in ("hand_over", "bury"):
            raise Broken
        do(work)

    with pytest.raises(Broken):
        boot(run)(work)
    assert work == {"row": 1}


def test_steps_that_run_twice_come_out_the_same():
    once, repeated = {}, {}
    boot()(once)
    boot(twice)(repeated)
    assert once == repeated
