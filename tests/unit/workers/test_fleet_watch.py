"""The watch of the fleet comes once a minute, however often it is asked."""

from workers.fleet_watch import Turn


def test_it_is_due_at_once_and_then_once_a_minute() -> None:
    now = [100.0]
    turn = Turn(lambda: now[0], every_s=60)
    found = []
    for seconds in (0, 5, 54, 1, 59, 1):
        now[0] += seconds
        found.append(turn.is_due())
    assert found == [True, False, False, True, False, True]
