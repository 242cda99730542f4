"""What the port promises of work that is graded once more, on every store that there is."""

from dataclasses import replace

import pytest
from stand_ins.classroom import ADA, LAB, NOON, attempt
from stand_ins.handed_in import (
    HOUR,
    MOST,
    OTHER_LAB,
    anything,
    claim,
    finish,
    graded,
    hand_in,
    minutes,
    opened,
    work,
)

from grader.course.database.records import Decision, Kind
from grader.service.domain.records import HandIn, Regrading, State
from grader.service.ports.store import Store

ASKED = Decision("", Kind.ASKED, "A. Teacher", "a test was wrong", minutes(10))


def word(run: str, kind: Kind) -> Decision:
    return Decision(run, kind, "B. Boss", "it is right now", minutes(30))


def judged(store: Store, student: str = "ada", lab: str = LAB) -> HandIn:
    """Hand in and grade."""
    item = hand_in(store, student, lab)
    assert finish(store, claim(store))
    return item


def ask(store: Store, *items: HandIn) -> str:
    """Ask for a regrade of what was handed in."""
    keys = [(item.student, item.key) for item in items]
    return store.regradings.ask(items[0].lab, keys, "cpu", ASKED)


def taken(store: Store, worker: str = "w") -> Regrading:
    """Claim what must be there."""
    found = store.regradings.claim(worker, "cpu", minutes(20), HOUR)
    assert found is not None
    return found


def end(store: Store, item: Regrading, points: float) -> bool:
    made = attempt(item.student, points, lab=item.lab, run="", commit=item.commit)
    return store.regradings.finish(item.number, item.worker, made, minutes(25))


def test_a_regrade_is_a_run_with_the_work_that_it_was_asked_for(store: Store) -> None:
    ada, bob = judged(store), judged(store, "bob")

    run = ask(store, ada, bob)

    assert [(found.id, found.lab) for found in store.regradings.runs(LAB)] == [(run, LAB)]
    assert store.regradings.runs(OTHER_LAB) == []
    assert store.regradings.decisions(run) == [replace(ASKED, run=run)]
    items = store.regradings.of_run(run)
    assert [(i.student, i.commit, i.path, i.received, i.lab, i.state) for i in items] == [
        (item.student, item.key, item.path, item.received, LAB, State.WAITING)
        for item in (ada, bob)
    ]
    assert store.regradings.counts() == {State.WAITING: 2}


def test_its_attempts_count_for_nothing_until_it_is_published(store: Store) -> None:
    run = ask(store, judged(store))
    before = store.attempts()

    assert end(store, taken(store), 80.0)

    assert store.attempts() == store.attempts(LAB, "ada") == before
    assert [each.points for each in store.attempts(run=run)] == [80.0]
    assert store.regradings.decide(word(run, Kind.PUBLISHED))
    assert [each.points for each in store.attempts(LAB)] == [50.0, 80.0]
    assert [said.kind for said in store.regradings.decisions(run)] == [Kind.ASKED, Kind.PUBLISHED]


def test_what_was_discarded_never_counts_and_is_not_graded_further(store: Store) -> None:
    run = ask(store, judged(store), judged(store, "bob"))
    running = taken(store)

    assert store.regradings.decide(word(run, Kind.DISCARDED))

    assert store.regradings.claim("w", "cpu", minutes(20), HOUR) is None
    assert end(store, running, 80.0)
    assert [each.points for each in store.attempts()] == [50.0, 50.0]
    states = [item.state for item in store.regradings.of_run(run)]
    assert states == [State.GRADED, State.SUPERSEDED]


def test_what_is_still_graded_cannot_be_published(store: Store) -> None:
    run = ask(store, judged(store))
    taken(store)

    assert not store.regradings.decide(word(run, Kind.PUBLISHED))

    assert [said.kind for said in store.regradings.decisions(run)] == [Kind.ASKED]


@pytest.mark.parametrize("second", [Kind.PUBLISHED, Kind.DISCARDED])
@pytest.mark.parametrize("first", [Kind.PUBLISHED, Kind.DISCARDED])
def test_a_regrade_is_decided_once(store: Store, first: Kind, second: Kind) -> None:
    run = ask(store, judged(store))
    assert end(store, taken(store), 80.0)
    assert store.regradings.decide(word(run, first))

    assert not store.regradings.decide(word(run, second))
    assert not store.regradings.decide(word("404", second))

    assert [said.kind for said in store.regradings.decisions()] == [Kind.ASKED, first]


def test_nothing_is_claimed_of_a_student_of_whom_something_runs(store: Store) -> None:
    items = judged(store), judged(store, "ada", OTHER_LAB), judged(store, "bob")
    for item in items:
        ask(store, item)
    hand_in(store, "bob")
    claim(store)

    assert taken(store).student == "ada"

    assert store.regradings.claim("w", "cpu", minutes(20), HOUR) is None
    assert store.regradings.claim("w", "cuda", minutes(20), HOUR) is None


def test_a_failure_of_ours_is_tried_again_and_then_held_and_may_wait_anew(store: Store) -> None:
    run = ask(store, judged(store))
    states: list[State] = []
    for _ in range(MOST):
        item = taken(store)
        found = store.regradings.fail(item.number, "w", "the disk", minutes(21), MOST)
        assert found is not None
        states.append(found.state)

    assert states == [State.WAITING, State.WAITING, State.HELD]
    [held] = store.regradings.of_run(run)
    assert (held.failure, held.tries, held.ended) == ("the disk", MOST, minutes(21))
    assert store.regradings.requeue(run) == 1
    assert taken(store).tries == 1
    assert store.regradings.requeue(run) == 0


def test_a_failure_after_it_was_discarded_is_not_tried_again(store: Store) -> None:
    run = ask(store, judged(store))
    item = taken(store)
    assert store.regradings.decide(word(run, Kind.DISCARDED))

    found = store.regradings.fail(item.number, "w", "the disk", minutes(21), MOST)

    assert found is not None
    assert found.state is State.SUPERSEDED
    assert store.regradings.requeue(run) == 0


def test_who_is_silent_loses_it_and_records_nothing(store: Store) -> None:
    run = ask(store, judged(store))
    silent = taken(store, "silent")
    assert store.regradings.sweep(minutes(20.5), HOUR / 60, MOST) == []
    assert store.regradings.beat(silent.number, "silent", minutes(22))
    assert store.regradings.sweep(minutes(22.5), HOUR / 60, MOST) == []

    [swept] = store.regradings.sweep(minutes(23), HOUR / 60, MOST)

    assert (swept.number, swept.state) == (silent.number, State.WAITING)
    assert not store.regradings.beat(silent.number, "silent", minutes(23))
    assert not end(store, silent, 10.0)
    assert end(store, taken(store, "other"), 90.0)
    assert [each.points for each in store.attempts(run=run)] == [90.0]


def test_what_a_worker_leaves_that_has_certainly_ended_is_taken_back_at_once(
    store: Store,
) -> None:
    ask(store, judged(store))
    taken(store, "dead")

    assert store.regradings.sweep(minutes(20), HOUR, MOST) == []
    [found] = store.regradings.sweep(minutes(20), HOUR, MOST, lambda worker: worker == "dead")

    assert (found.state, found.failure) == (State.WAITING, "dead has ended")


def test_what_a_shutdown_gives_back_waits_with_no_try(store: Store) -> None:
    run = ask(store, judged(store))
    item = taken(store)

    assert store.regradings.release(item.number, "w")

    assert not store.regradings.release(item.number, "w")
    [found] = store.regradings.of_run(run)
    assert (found.state, found.tries, found.started) == (State.WAITING, 0, None)


def test_hidden_tests_judge_work_once_after_a_deadline_and_count_at_once(store: Store) -> None:
    items = [judged(store), judged(store, "bob")]
    asked = [(LAB, item.student, item.key, "cpu", minutes(10)) for item in items]

    assert [store.regradings.judge_hidden(*each) for each in asked] == [True, True]

    assert [store.regradings.judge_hidden(*each) for each in asked] == [False, False]
    assert store.regradings.judged_hidden(LAB) == {(item.student, item.key) for item in items}
    assert store.regradings.judged_hidden(OTHER_LAB) == set()
    assert store.regradings.runs() == []
    assert end(store, taken(store), 80.0)
    assert [each.points for each in store.attempts(student="ada")] == [50.0, 80.0]


def test_both_wait_for_a_process_that_opens_the_database_anew(url: str) -> None:
    with opened(url, [ADA]) as store:
        run = ask(store, judged(store))
        running = taken(store)

    with opened(url) as again:
        assert again.regradings.of_run(run) == [running]
        assert end(again, running, 80.0)
        assert again.regradings.decide(word(run, Kind.PUBLISHED))


def test_work_that_is_collected_again_is_regraded_from_where_it_lies_now(url: str) -> None:
    with opened(url, [ADA]) as store:
        item = store.receive(work("ada"), "hand-ins/01_llama/x", anything)
        assert store.finish(claim(store).number, "w", graded(item), NOON)
        run = ask(store, item)

        assert [found.path for found in store.regradings.of_run(run)] == ["hand-ins/01_llama/x"]
        gone = store.regradings.ask(LAB, [("ada", "c0ffee")], "cpu", ASKED)
        assert [(i.path, i.received) for i in store.regradings.of_run(gone)] == [("", None)]
