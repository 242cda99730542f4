"""What the port promises of a store, sentence by sentence, on every store that there is."""

import random
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest
from stand_ins.classroom import ADA, BOB, CYD, LAB, NOON
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
    work,
)

from grader.errors import StoreError
from grader.service.domain.records import (
    Alias,
    Begun,
    HandIn,
    Origin,
    Role,
    Session,
    State,
)
from grader.service.ports.store import Store

SILENCE = timedelta(minutes=2)


def state(store: Store, item: HandIn) -> State:
    found = store.hand_in(item.number)
    assert found is not None
    return found.state


# Handing in


def test_what_was_handed_in_comes_back_the_same(store: Store) -> None:
    given = work("ada", origin=Origin.GIT, device="cuda", note="no <cell> 3", commit="beef")

    taken = store.receive(given, "hand-ins/01_llama/x", anything)

    assert taken.state is State.WAITING
    assert (taken.tries, taken.worker, taken.failure) == (0, "", "")
    assert (taken.beat, taken.started, taken.ended) == (None, None, None)
    assert taken.path == "hand-ins/01_llama/x"
    names = {field.name for field in fields(given)} - {"files"}
    assert {n: getattr(taken, n) for n in names} == {n: getattr(given, n) for n in names}
    assert store.hand_in(taken.number) == taken
    assert store.hand_in(taken.number + 1) is None


def test_hand_ins_are_listed_by_number_of_all_or_of_a_student_or_a_lab(store: Store) -> None:
    first = hand_in(store, "bob")
    second = hand_in(store, "ada")
    third = hand_in(store, "ada", OTHER_LAB)

    assert first.number < second.number < third.number
    assert store.hand_ins() == [first, second, third]
    assert store.hand_ins("ada") == [second, third]
    assert store.hand_ins(lab=LAB) == [first, second]
    assert store.hand_ins("ada", LAB) == [second]
    assert store.hand_ins("cyd") == []


def test_what_waits_of_the_student_in_this_lab_is_superseded_and_kept(store: Store) -> None:
    old = hand_in(store, "ada")
    other_lab, other_student = hand_in(store, "ada", OTHER_LAB), hand_in(store, "bob")

    new = hand_in(store, "ada", received=minutes(5))

    kept = store.hand_in(old.number)
    assert kept == replace(old, state=State.SUPERSEDED, ended=minutes(5))
    assert [state(store, item) for item in (other_lab, other_student, new)] == [State.WAITING] * 3


def test_what_runs_is_not_superseded(store: Store) -> None:
    old = hand_in(store, "ada")
    claim(store)

    new = hand_in(store, "ada")

    assert [state(store, old), state(store, new)] == [State.RUNNING, State.WAITING]


def test_a_check_is_given_what_was_handed_in_of_the_lab_and_its_refusal_undoes_all(
    store: Store,
) -> None:
    old = hand_in(store, "ada")
    hand_in(store, "ada", OTHER_LAB)
    hand_in(store, "bob")
    seen: list[HandIn] = []

    def refuse(before: Sequence[HandIn]) -> None:
        seen.extend(before)
        raise KeyboardInterrupt("no")

    with pytest.raises(KeyboardInterrupt, match="no"):
        store.receive(work("ada"), "hand-ins/x", refuse)

    assert seen == [old]
    assert len(store.hand_ins()) == 3
    assert state(store, old) is State.WAITING
    assert hand_in(store, "ada").number > old.number


def test_work_of_nobody_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no student 'eve'"):
        hand_in(store, "eve")

    assert store.hand_ins() == []


# Whose turn it is


def test_what_is_claimed_runs_under_the_name_of_its_worker(store: Store) -> None:
    waiting = hand_in(store, "ada")

    got = store.claim("host-1", "cpu", minutes(3), HOUR)

    running = replace(waiting, state=State.RUNNING, worker="host-1", tries=1)
    assert got == replace(running, beat=minutes(3), started=minutes(3))
    assert store.hand_in(waiting.number) == got
    assert store.claim("host-2", "cpu", minutes(3), HOUR) is None


def test_nothing_is_claimed_of_whom_something_runs(store: Store) -> None:
    first, second = hand_in(store, "ada"), hand_in(store, "ada", OTHER_LAB)
    running = claim(store, "one")

    assert running.number == first.number
    assert store.claim("two", "cpu", NOON, HOUR) is None
    assert finish(store, running)
    assert claim(store, "two").number == second.number


def test_a_device_takes_its_own_only(store: Store) -> None:
    on_gpu, on_cpu = hand_in(store, "ada", device="cuda"), hand_in(store, "bob")

    assert claim(store, device="cpu").number == on_cpu.number
    assert store.claim("w", "cpu", NOON, HOUR) is None
    assert claim(store, device="cuda").number == on_gpu.number


def test_who_had_fewest_gradings_of_late_is_next_and_of_these_what_came_first(
    store: Store,
) -> None:
    for _ in range(2):
        hand_in(store, "ada")
        assert finish(store, claim(store, now=minutes(0)))
    hand_in(store, "bob")
    assert finish(store, claim(store, now=minutes(30)))
    of_ada, of_bob, of_cyd = (hand_in(store, name) for name in ("ada", "bob", "cyd"))

    within_an_hour = [item.number for item in store.queued(minutes(45), HOUR)]
    later = [item.number for item in store.queued(minutes(61), HOUR)]

    assert within_an_hour == [of_cyd.number, of_bob.number, of_ada.number]
    assert later == [of_ada.number, of_cyd.number, of_bob.number]
    assert claim(store, "w1", minutes(61)).number == of_ada.number
    assert claim(store, "w2", minutes(61)).number == of_cyd.number


def test_a_lone_student_with_many_labs_does_not_hold_up_the_others(store: Store) -> None:
    labs = [hand_in(store, "ada", f"{n:02d}_lab") for n in range(1, 5)]
    of_bob = hand_in(store, "bob")

    order = [item.number for item in store.queued(NOON, HOUR)]

    first, *rest = (item.number for item in labs)
    assert order == [first, of_bob.number, *rest]


@pytest.mark.parametrize("seed", range(4))
def test_the_queue_is_listed_as_claims_give_it(store: Store, seed: int) -> None:
    draw = random.Random(seed)
    for minute in range(60):
        device = draw.choice(("cpu", "cuda"))
        if draw.random() < 0.6:
            name, lab = draw.choice(("ada", "bob", "cyd")), f"{draw.randrange(1, 6):02d}_lab"
            hand_in(store, name, lab, device=device, received=minutes(minute))
        elif (got := store.claim(f"w{minute}", device, minutes(minute), HOUR)) is not None:
            if draw.random() < 0.8:
                assert finish(store, got)
    running = [item for item in store.hand_ins() if item.state is State.RUNNING]
    running.sort(key=lambda item: (item.started, item.number))

    listed = store.queued(minutes(75), HOUR)

    assert running
    assert listed[len(listed) - len(running) :] == running
    for item in running:
        assert finish(store, item)
    listed = store.queued(minutes(75), HOUR)
    assert len(listed) > 4
    for device in ("cpu", "cuda"):
        now = store.queued(minutes(75), HOUR)
        given: list[int] = []
        while (got := store.claim("w", device, minutes(75), HOUR)) is not None:
            given.append(got.number)
            assert finish(store, got)
        assert given == [item.number for item in now if item.device == device]
    assert store.queued(minutes(75), HOUR) == []


def test_who_has_something_running_comes_last_in_the_queue(store: Store) -> None:
    hand_in(store, "ada")
    running = claim(store)
    waits = hand_in(store, "ada", OTHER_LAB)
    for _ in range(3):
        hand_in(store, "bob")
        assert finish(store, claim(store, "v"))
    of_bob = hand_in(store, "bob")

    listed = [item.number for item in store.queued(NOON, HOUR)]

    assert listed == [of_bob.number, waits.number, running.number]
    assert claim(store, "v").number == of_bob.number


def test_what_is_tried_again_counts_once(store: Store) -> None:
    again = hand_in(store, "ada")
    for _ in range(2):
        store.fail(claim(store).number, "w", "disk", NOON, MOST)
    hand_in(store, "bob")
    assert claim(store).student == "bob"
    of_cyd = hand_in(store, "cyd")

    listed = [item.number for item in store.queued(NOON, HOUR)][:2]

    assert listed == [of_cyd.number, again.number]


def test_the_queue_of_this_moment_needs_no_clock(store: Store) -> None:
    item = hand_in(store, "ada")

    assert store.queued() == [item]


# How gradings end


def test_a_worker_that_is_heard_of_keeps_what_it_grades(store: Store) -> None:
    hand_in(store, "ada")
    item = claim(store, now=minutes(0))

    assert store.beat(item.number, "w", minutes(2))
    assert not store.beat(item.number, "other", minutes(3))
    assert not store.beat(item.number + 1, "w", minutes(3))
    kept = store.hand_in(item.number)
    assert kept == replace(item, beat=minutes(2))
    assert store.sweep(minutes(3), SILENCE, MOST) == []


def test_a_grading_and_its_end_are_recorded_in_one_and_once(store: Store) -> None:
    hand_in(store, "ada", received=minutes(-3))
    item = claim(store)

    first = store.finish(item.number, "w", graded(item, 80.0), minutes(4))
    second = store.finish(item.number, "w", graded(item, 10.0), minutes(5))

    assert (first, second) == (True, False)
    assert store.hand_in(item.number) == replace(item, state=State.GRADED, ended=minutes(4))
    [kept] = store.attempts()
    assert kept == replace(graded(item, 80.0), run=kept.run)
    assert kept.run
    assert store.attempts(LAB, "ada", kept.run) == [kept]
    assert not store.beat(item.number, "w", minutes(5))
    assert not store.release(item.number, "w")
    assert store.fail(item.number, "w", "late", minutes(5), MOST) is None


def test_all_gradings_of_a_lab_are_in_one_run_of_its_own(store: Store) -> None:
    for student, lab in (("ada", LAB), ("bob", LAB), ("cyd", OTHER_LAB), ("ada", LAB)):
        hand_in(store, student, lab)
        assert finish(store, claim(store))

    runs = [attempt.run for attempt in store.attempts()]
    assert runs[0] == runs[1] == runs[3] != runs[2]


def test_only_the_worker_that_grades_can_end_a_grading(store: Store) -> None:
    item = hand_in(store, "ada")

    def try_all(worker: str) -> None:
        assert not store.finish(item.number, worker, graded(item), NOON)
        assert store.fail(item.number, worker, "x", NOON, MOST) is None
        assert not store.release(item.number, worker)
        assert not store.beat(item.number, worker, NOON)

    try_all("")
    running = claim(store)
    try_all("other")
    assert store.hand_in(item.number) == running
    assert store.attempts() == []
    assert not store.finish(99, "w", graded(item), NOON)


def test_a_failure_of_ours_lets_it_wait_again_and_after_so_many_tries_it_is_held(
    store: Store,
) -> None:
    hand_in(store, "ada")
    states: list[State] = []
    for number in range(1, MOST + 1):
        item = claim(store, now=minutes(number))
        failed = store.fail(item.number, "w", f"disk {number}", minutes(number + 0.5), MOST)
        assert failed == store.hand_in(item.number)
        assert failed is not None
        assert (failed.tries, failed.failure) == (number, f"disk {number}")
        states.append(failed.state)

    assert states == [State.WAITING, State.WAITING, State.HELD]
    assert failed.ended == minutes(MOST + 0.5)
    assert store.claim("w", "cpu", NOON, HOUR) is None
    assert store.attempts() == []


@pytest.mark.parametrize("end", ["fail", "last fail", "release", "sweep"])
def test_what_would_wait_again_is_superseded_if_something_newer_waits(
    store: Store, end: str
) -> None:
    hand_in(store, "ada")
    item = claim(store)
    newer = hand_in(store, "ada", received=minutes(1))

    match end:
        case "fail" | "last fail":
            most = MOST if end == "fail" else 1
            found = store.fail(item.number, "w", "disk", minutes(9), most)
            assert found == store.hand_in(item.number)
        case "release":
            assert store.release(item.number, "w")
        case _:
            [found] = store.sweep(minutes(9), SILENCE, MOST)
            assert found == store.hand_in(item.number)

    old = store.hand_in(item.number)
    assert old is not None
    assert (old.state, old.ended) == (State.SUPERSEDED, minutes(1))
    assert state(store, newer) is State.WAITING


def test_what_is_released_waits_again_and_the_try_does_not_count(store: Store) -> None:
    waiting = hand_in(store, "ada")
    hand_in(store, "bob")
    item = claim(store)

    assert store.release(item.number, "w")

    again = store.hand_in(item.number)
    assert again is not None
    assert (again.state, again.tries, again.started) == (State.WAITING, 0, None)
    assert claim(store).number == waiting.number
    assert [each.waited for each in store.begun(minutes(-60))] == [timedelta(0)]


def test_what_was_not_heard_of_is_taken_back_and_its_worker_cannot_finish(store: Store) -> None:
    hand_in(store, "ada")
    hand_in(store, "bob")
    stalled, alive = claim(store, "stalled"), claim(store, "alive")
    assert store.beat(alive.number, "alive", minutes(1))

    assert store.sweep(minutes(1.9), SILENCE, MOST) == []
    taken = store.sweep(minutes(2), SILENCE, MOST)

    assert taken == [store.hand_in(stalled.number)]
    assert taken[0].state is State.WAITING
    assert taken[0].tries == 1
    assert "stalled was not heard of for 120 s" in taken[0].failure
    assert not store.beat(stalled.number, "stalled", minutes(3))
    assert not finish(store, stalled)
    again = claim(store, "new", minutes(3))
    assert again.number == stalled.number
    assert not finish(store, stalled)
    assert finish(store, again, points=70.0)
    assert [attempt.points for attempt in store.attempts()] == [70.0]


def test_what_stalls_again_and_again_is_held(store: Store) -> None:
    hand_in(store, "ada")
    for number in range(MOST):
        claim(store, f"w{number}", minutes(10 * number))
        [taken] = store.sweep(minutes(10 * number + 5), SILENCE, MOST)

    assert (taken.state, taken.tries) == (State.HELD, MOST)
    assert taken.ended == minutes(10 * (MOST - 1) + 5)


def test_what_is_held_waits_again_with_no_tries_when_a_person_says_so(store: Store) -> None:
    item = hand_in(store, "ada")
    assert not store.requeue(item.number)
    assert not store.requeue(item.number + 1)
    held = store.fail(claim(store).number, "w", "disk", NOON, 1)
    assert held is not None
    assert held.state is State.HELD

    assert store.requeue(item.number)
    assert not store.requeue(item.number)

    again = store.hand_in(item.number)
    assert again is not None
    assert (again.state, again.tries, again.ended) == (State.WAITING, 0, None)
    assert finish(store, claim(store))


def held(store: Store, **given: Any) -> HandIn:
    """A hand-in of ada that failed by our fault, for good."""
    hand_in(store, "ada", **given)
    failed = store.fail(claim(store).number, "w", "disk", NOON, 1)
    assert failed is not None
    return failed


def test_what_is_let_wait_again_is_superseded_if_something_newer_waits(store: Store) -> None:
    old = held(store)
    newer = hand_in(store, "ada", received=minutes(3))

    assert store.requeue(old.number)

    found = store.hand_in(old.number)
    assert found is not None
    assert (found.state, found.ended) == (State.SUPERSEDED, minutes(3))
    assert state(store, newer) is State.WAITING


def test_what_is_let_wait_again_supersedes_something_older_that_waits(store: Store) -> None:
    old, newer = held(store), held(store, received=minutes(3))
    assert store.requeue(old.number)

    assert store.requeue(newer.number)

    found = store.hand_in(old.number)
    assert found is not None
    assert (found.state, found.ended) == (State.SUPERSEDED, minutes(3))
    assert state(store, newer) is State.WAITING


def test_what_began_since_a_moment_is_told_with_its_wait_and_time(store: Store) -> None:
    devices = {"ada": "cpu", "bob": "cuda", "cyd": "cpu"}
    for name, came, began in (("ada", 0, 10), ("bob", 5, 20), ("cyd", 6, 40)):
        hand_in(store, name, received=minutes(came), device=devices[name])
        item = claim(store, name, minutes(began), devices[name])
        if name == "bob":
            assert finish(store, item, minutes(22))

    assert store.begun(minutes(20)) == [
        Begun("cuda", timedelta(minutes=15), timedelta(minutes=2)),
        Begun("cpu", timedelta(minutes=34), None),
    ]
    assert len(store.begun(minutes(0))) == 3
    assert store.begun(minutes(41)) == []


# Events


def test_events_of_a_hand_in_come_back_in_order_after_an_id(store: Store) -> None:
    one, other = hand_in(store, "ada"), hand_in(store, "bob")
    data: dict[str, object] = {"task": "norm <b>", "tests": [1, None, {"a": 0.5}]}
    first = store.tell(one.number, "begun", {}, minutes(1))
    strange = store.tell(other.number, "begun", {}, minutes(2))
    second = store.tell(one.number, "task", data, minutes(3))
    third = store.tell(one.number, "graded", {}, minutes(4))

    assert first.id < strange.id < second.id < third.id
    assert (second.kind, second.data, second.made) == ("task", data, minutes(3))
    assert store.events(one.number) == [first, second, third]
    assert store.events(one.number, after=first.id) == [second, third]
    assert store.events(one.number, after=first.id, most=1) == [second]
    assert store.events(one.number, after=third.id) == []
    assert store.events(99) == []


def test_an_event_of_nothing_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no hand-in 7"):
        store.tell(7, "begun", {}, NOON)


def test_events_of_what_ended_before_are_removed_and_their_ids_never_given_again(
    store: Store,
) -> None:
    old, young, runs = (hand_in(store, name) for name in ("ada", "bob", "cyd"))
    kept = [store.tell(item.number, "begun", {}, NOON) for item in (young, runs)]
    last = store.tell(old.number, "begun", {}, NOON)
    store.tell(old.number, "graded", {}, NOON)
    for end in (1, 9):
        assert finish(store, claim(store), minutes(end))

    assert store.forget(minutes(1)) == 0
    assert store.forget(minutes(5)) == 2
    assert store.events(old.number) == []
    assert [e for item in (young, runs) for e in store.events(item.number)] == kept
    assert store.tell(runs.number, "task", {}, NOON).id > last.id + 1


# Who may come in


def test_a_token_is_found_by_its_hash_until_it_is_revoked(store: Store) -> None:
    ada = store.add_token("h1", "ada", "student", minutes(1))
    staff = store.add_token("h2", "A. Teacher", Role.INSTRUCTOR, minutes(2))
    second = store.add_token("h3", "ada", "student", minutes(3))

    assert (ada.hash, ada.owner, ada.role, ada.made) == ("h1", "ada", Role.STUDENT, minutes(1))
    assert staff.role is Role.INSTRUCTOR
    assert store.token("h1") == ada
    assert store.token("h") is None
    assert store.tokens() == [ada, staff, second]

    assert store.revoke("ada", minutes(9)) == 2
    assert store.revoke("ada", minutes(10)) == 0
    assert store.revoke("nobody", minutes(10)) == 0
    assert [store.token(name) for name in ("h1", "h2", "h3")] == [None, staff, None]
    assert store.tokens() == [
        replace(ada, revoked=minutes(9)),
        staff,
        replace(second, revoked=minutes(9)),
    ]


def test_a_hash_that_is_there_is_refused(store: Store) -> None:
    token = store.add_token("h1", "ada", "student", NOON)

    with pytest.raises(StoreError):
        store.add_token("h1", "bob", "student", NOON)

    assert store.token("h1") == token
    assert store.tokens() == [token]


def session(token: int, hash: str = "s1", ends: float = 60) -> Session:
    return Session(hash, token, "csrf", NOON, minutes(ends))


def test_a_session_lasts_until_it_ends(store: Store) -> None:
    token = store.add_token("h1", "ada", "student", NOON)
    opened = session(token.id)

    store.open_session(opened)

    assert store.session("s1", minutes(59)) == (opened, token)
    assert store.session("s1", minutes(60)) is None
    assert store.session("s2", NOON) is None
    store.close_session("s1")
    store.close_session("s1")
    assert store.session("s1", NOON) is None


def test_a_session_of_no_token_is_refused(store: Store) -> None:
    with pytest.raises(StoreError):
        store.open_session(session(5))


def test_revoking_ends_the_sessions_of_that_owner_only(store: Store) -> None:
    ada = store.add_token("h1", "ada", "student", NOON)
    bob = store.add_token("h2", "bob", "student", NOON)
    store.open_session(session(ada.id, "s1"))
    store.open_session(session(bob.id, "s2"))

    store.revoke("ada", minutes(1))

    assert store.session("s1", minutes(1)) is None
    assert store.session("s2", minutes(1)) == (session(bob.id, "s2"), bob)


def test_a_session_that_opens_leaves_others_that_have_not_ended(store: Store) -> None:
    token = store.add_token("h1", "ada", "student", NOON)
    store.open_session(session(token.id, "ended", -1))
    store.open_session(session(token.id, "open", 1))

    store.open_session(session(token.id, "new", 60))

    assert store.session("open", NOON) is not None
    assert store.session("ended", NOON) is None


def test_a_delivery_is_first_once(store: Store) -> None:
    found = [store.first_delivery(id, NOON) for id in ("a", "b", "a", "a")]

    assert found == [True, True, False, False]


def test_what_a_worker_leaves_that_has_certainly_ended_is_taken_back_at_once(
    store: Store,
) -> None:
    for name in ("ada", "bob"):
        hand_in(store, name)
    dead, alive = claim(store, "dead"), claim(store, "alive")

    [found] = store.sweep(NOON, HOUR, MOST, lambda worker: worker == "dead")

    assert (found.number, found.state, found.failure) == (
        dead.number,
        State.WAITING,
        "dead has ended",
    )
    assert state(store, alive) is State.RUNNING
    assert store.regradings.sweep(NOON, HOUR, MOST, lambda worker: True) == []


def test_old_deliveries_are_forgotten_with_old_events(store: Store) -> None:
    for at, id in enumerate("abc"):
        store.first_delivery(id, minutes(at))

    assert store.forget(minutes(2)) == 2

    assert [store.first_delivery(id, minutes(9)) for id in "abc"] == [True, True, False]


# Words


def test_an_alias_is_one_students_alone_on_a_board(store: Store) -> None:
    assert store.put_alias(Alias("ada", LAB, "zeta"))
    assert store.put_alias(Alias("bob", LAB, "Beta"))

    assert not store.put_alias(Alias("bob", LAB, "zeta"))
    assert store.put_alias(Alias("bob", OTHER_LAB, "zeta"))
    assert store.put_alias(Alias("ada", LAB, "zeta"))

    assert store.aliases(LAB) == [Alias("bob", LAB, "Beta"), Alias("ada", LAB, "zeta")]
    assert store.aliases(OTHER_LAB) == [Alias("bob", OTHER_LAB, "zeta")]


@pytest.mark.parametrize("like", ["STRASSE 7", "straße 7", "Strasse\u00a07", "Strasse \uff17"])
def test_an_alias_that_looks_like_anothers_is_taken(store: Store, like: str) -> None:
    assert store.put_alias(Alias("ada", LAB, "Strasse 7"))

    assert not store.put_alias(Alias("bob", LAB, like))

    assert store.put_alias(Alias("ada", LAB, like))
    assert store.aliases(LAB) == [Alias("ada", LAB, like)]


def test_an_alias_can_change_and_go(store: Store) -> None:
    store.put_alias(Alias("ada", LAB, "old"))
    store.put_alias(Alias("ada", LAB, "new"))

    assert store.put_alias(Alias("bob", LAB, "old"))
    assert store.put_alias(Alias("ada", LAB, ""))
    assert store.put_alias(Alias("ada", LAB, ""))
    assert store.put_alias(Alias("cyd", LAB, ""))

    assert store.aliases(LAB) == [Alias("bob", LAB, "old")]
    assert store.put_alias(Alias("bob", LAB, "new"))


# The course


def test_the_roster_and_attempts_are_the_courses(store: Store) -> None:
    assert store.students() == [ADA, BOB, CYD]
    for name in ("ada", "bob"):
        hand_in(store, name)
        assert finish(store, claim(store))

    assert [attempt.student for attempt in store.attempts(lab=LAB)] == ["ada", "bob"]
    assert [attempt.student for attempt in store.attempts(student="bob")] == ["bob"]
    assert store.attempts(lab=OTHER_LAB) == []
