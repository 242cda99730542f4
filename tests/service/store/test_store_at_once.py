"""Many workers and many requests at once, each with a connection of its own."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import chain
from typing import TypeVar

import pytest
from sqlalchemy import text
from stand_ins.classroom import LAB, NOON
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

from grader.course.database.connection import connect, located, writing
from grader.course.database.records import Student
from grader.course.database.store import Store as CourseStore
from grader.service.domain.records import Alias, HandIn, State
from grader.service.ports.store import Store

Result = TypeVar("Result")
MANY = [Student(f"s{number:02d}", "S", "", "b") for number in range(12)]


def at_once(url: str, count: int, do: Callable[[Store, int], Result]) -> list[Result]:
    """Let so many threads do something at the same moment, each on a store of its own."""
    barrier = threading.Barrier(count, timeout=60)

    def one(number: int) -> Result:
        with opened(url) as store:
            barrier.wait()
            return do(store, number)

    with ThreadPoolExecutor(count) as threads:
        return [*threads.map(one, range(count))]


def test_workers_at_once_grade_each_hand_in_once_and_one_of_a_student_at_a_time(url: str) -> None:
    busy: Counter[str] = Counter()
    most: list[int] = []
    lock = threading.Lock()

    def grade_all(store: Store, number: int) -> list[int]:
        mine: list[int] = []
        while (item := store.claim(f"w{number}", "cpu", NOON, HOUR)) or store.queued(NOON, HOUR):
            if item is None:
                time.sleep(0.01)
                continue
            with lock:
                busy[item.student] += 1
                most.append(busy[item.student])
            mine.append(item.number)
            store.beat(item.number, f"w{number}", NOON)
            with lock:
                busy[item.student] -= 1
            assert finish(store, item)
        return mine

    with opened(url, MANY) as store:
        items = [hand_in(store, s.id, lab) for lab in (LAB, OTHER_LAB, "03_x") for s in MANY]
        claimed = at_once(url, 4, grade_all)

        assert sorted(chain(*claimed)) == [item.number for item in items]
        assert sum(map(bool, claimed)) > 1
        assert {*most} == {1}
        assert {item.state for item in store.hand_ins()} == {State.GRADED}
        assert Counter(a.commit for a in store.attempts()) == Counter(i.key for i in items)


def test_of_a_student_with_many_labs_one_is_claimed_at_once(shared: Store, url: str) -> None:
    for lab in range(1, 6):
        hand_in(shared, "ada", f"{lab:02d}_lab")

    for number in range(1, 6):
        found = at_once(url, 4, lambda store, n: store.claim(f"w{n}", "cpu", NOON, HOUR))
        [got] = [item for item in found if item is not None]
        assert got.number == number
        assert finish(shared, got)


def test_a_claim_that_comes_while_another_is_being_made_takes_nothing_of_that_student(
    shared: Store, url: str
) -> None:
    hand_in(shared, "ada")
    hand_in(shared, "ada", OTHER_LAB)
    engine = connect(located(url, None), 30.0)

    with ThreadPoolExecutor(1) as thread:
        with writing(engine).begin() as connection:
            connection.execute(text("UPDATE hand_ins SET state = 'running' WHERE id = 1"))
            second = thread.submit(shared.claim, "w2", "cpu", NOON, HOUR)
            time.sleep(0.5)
            assert not second.done()
        got = second.result(30)

    engine.dispose()
    assert got is None
    assert [item.state for item in shared.hand_ins()] == [State.RUNNING, State.WAITING]


def test_requests_at_once_respect_a_quota(shared: Store, url: str) -> None:
    class Full(Exception):
        pass

    def five(before: Sequence[HandIn]) -> None:
        if len(before) >= 5:
            raise Full

    def try_three(store: Store, number: int) -> int:
        taken = 0
        for _ in range(3):
            try:
                store.receive(work("ada"), f"hand-ins/{LAB}/{number}", five)
                taken += 1
            except Full:
                pass
        return taken

    assert sum(at_once(url, 8, try_three)) == 5
    states = [item.state for item in shared.hand_ins("ada", LAB)]
    assert states == [State.SUPERSEDED] * 4 + [State.WAITING]


def test_a_grading_that_is_finished_at_once_is_recorded_once(shared: Store, url: str) -> None:
    for number in range(5):
        hand_in(shared, "ada")
        item = claim(shared)

        said = at_once(url, 4, lambda store, n, item=item: finish(store, item, points=n))

        assert sorted(said) == [False, False, False, True]
        assert len(shared.attempts()) == number + 1


def test_first_gradings_of_a_lab_that_end_at_once_share_one_run(url: str) -> None:
    with CourseStore.open(url) as course:
        course.put_students(MANY)
    with opened(url) as store:
        items = [hand_in(store, student.id) for student in MANY[:4]]
        for item in items:
            claim(store, f"w{item.number}")

    said = at_once(
        url,
        4,
        lambda store, n: store.finish(items[n].number, f"w{n + 1}", graded(items[n]), NOON),
    )

    with CourseStore.open(url) as course:
        assert said == [True] * 4
        assert [(run.lab, run.note) for run in course.runs()] == [(LAB, "service")]
        assert len(course.attempts(run="1")) == 4


def test_what_stalled_is_swept_by_one_of_many(url: str) -> None:
    with opened(url, MANY) as store:
        for student in MANY:
            hand_in(store, student.id)
            claim(store, student.id)

    swept = at_once(url, 4, lambda store, _: store.sweep(minutes(9), timedelta(minutes=2), MOST))

    numbers = [item.number for found in swept for item in found]
    with opened(url) as store:
        assert sorted(numbers) == [item.number for item in store.hand_ins()]
        assert {(item.state, item.tries) for item in store.hand_ins()} == {(State.WAITING, 1)}


@pytest.mark.parametrize("end", ["fail", "sweep", "release"])
def test_what_comes_while_an_older_one_waits_again_supersedes_it(
    shared: Store, url: str, end: str
) -> None:
    for _ in range(4):
        hand_in(shared, "ada")
        item = claim(shared)

        def one(store: Store, number: int, item: HandIn = item) -> object:
            if number:
                return store.receive(work("ada"), "hand-ins/x", anything)
            if end == "fail":
                return store.fail(item.number, "w", "disk", NOON, MOST)
            if end == "release":
                return store.release(item.number, "w")
            return store.sweep(minutes(9), timedelta(minutes=2), MOST)

        assert all(at_once(url, 2, one))
        first, second = shared.hand_ins()[-2:]
        assert (first.state, second.state) == (State.SUPERSEDED, State.WAITING)


def test_of_those_who_choose_a_name_at_once_one_gets_it(url: str) -> None:
    with opened(url, MANY) as store:
        for number in range(4):
            name = f"name {number}"

            def choose(store: Store, number: int, name: str = name) -> bool:
                return store.put_alias(Alias(MANY[number].id, LAB, name))

            said = at_once(url, 5, choose)

            assert said.count(True) == 1
            assert [a.student for a in store.aliases(LAB) if a.name == name] == [
                MANY[said.index(True)].id
            ]


def test_a_delivery_that_comes_twice_at_once_is_first_once(shared: Store, url: str) -> None:
    for number in range(4):
        said = at_once(url, 4, lambda s, _, id=str(number): s.first_delivery(id, NOON))

        assert said.count(True) == 1


def test_a_watcher_misses_no_event_that_others_tell_meanwhile(shared: Store, url: str) -> None:
    item = hand_in(shared, "ada")
    told = 15
    seen: list[int] = []

    def one(store: Store, number: int) -> list[int]:
        if number:
            return [store.tell(item.number, "task", {}, NOON).id for _ in range(told)]
        until = time.monotonic() + 60
        while len(seen) < 3 * told and time.monotonic() < until:
            last = seen[-1] if seen else 0
            seen.extend(event.id for event in store.events(item.number, after=last))
        return []

    ids = at_once(url, 4, one)

    assert seen == sorted(chain(*ids))
