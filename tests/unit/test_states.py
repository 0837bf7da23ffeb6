from roost import states
from roost.states import State


def test_every_move_leads_to_a_state_of_the_table():
    for before, afters in states.MOVES.items():
        assert afters <= set(states.MOVES), before


def test_every_state_can_end():
    for state in states.MOVES:
        assert _reach(state, State(states.DELETED)), state


def test_nothing_comes_back_from_deletion():
    for task in (states.DELETING,):
        for vm in (states.BUILDING, states.ACTIVE, states.ERROR):
            assert states.MOVES[State(vm, task)] == {State(vm, task), State(states.DELETED)}


def test_a_server_becomes_active_only_after_its_guest_was_spawned():
    before = [state for state, afters in states.MOVES.items() if State(states.ACTIVE) in afters]
    assert before == [State(states.BUILDING, states.SPAWNING)]


def test_a_state_out_of_the_table_leads_nowhere():
    assert not states.may_follow(State("confused"), State(states.ACTIVE))


def _reach(start, goal):
    seen, front = set(), {start}
    while front:
        seen |= front
        front = set().union(*(states.MOVES[state] for state in front)) - seen
    return goal in seen
