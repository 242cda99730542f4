"""How long one waits, and how seldom that is found out."""

from datetime import timedelta
from typing import Any

import pytest
from stand_ins.handed_in import HOUR, claim, finish, hand_in, minutes
from stand_ins.service_room import NOON, STUDENTS, SetClock

from grader.service.adapters.memory import MemoryStore
from grader.service.core.outlook import KEPT_SECONDS, QUICK_SECONDS, SHARE, Lookout
from grader.service.domain.records import HandIn


class Looked:
    """A store of three students that counts looks, each of which takes some time of a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, takes: float = 0.0) -> None:
        self.store = MemoryStore(STUDENTS)
        self.clock = SetClock(minutes(30))
        self.seconds = 100.0
        self.looks = 0
        queued = self.store.queued

        def counted(*given: Any) -> list[HandIn]:
            if given:
                return queued(*given)  # of a claim
            self.looks += 1
            self.seconds += takes
            return queued(self.clock.moment, HOUR)

        monkeypatch.setattr(self.store, "queued", counted)
        self.lookout = Lookout(self.store, self.clock, lambda: self.seconds)


def test_places_and_waits_are_told_by_device(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked(monkeypatch)
    store = looked.store
    for name, came, began, ends in (("ada", 0, 4, 10), ("bob", 0, 10, 20)):
        hand_in(store, name, received=minutes(came))
        assert finish(store, claim(store, now=minutes(began)), minutes(ends))
    hand_in(store, "ada", "03_lab")
    claim(store, now=minutes(25))
    first = hand_in(store, "eve")
    gpu = hand_in(store, "eve", "04_lab", device="cuda")
    second = hand_in(store, "bob", "05_lab")

    outlook = looked.lookout.look()

    assert outlook.places == {first.number: 1, gpu.number: 1, second.number: 2}
    cpu = outlook.paces["cpu"]
    assert (cpu.waiting, cpu.running) == (2, 1)
    assert (cpu.median, cpu.worst) == (timedelta(minutes=10), timedelta(minutes=25))
    assert cpu.took == timedelta(minutes=8)
    assert cpu.expected(1) == timedelta(minutes=8)
    assert cpu.expected(3) == timedelta(minutes=24)
    assert outlook.paces["cuda"].expected(1) is None


def test_one_look_serves_all_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked(monkeypatch)
    hand_in(looked.store, "ada")
    for _ in range(5):
        looked.lookout.look()
    assert looked.looks == 1

    looked.seconds += KEPT_SECONDS

    looked.lookout.look()
    assert looked.looks == 2


def test_what_was_handed_in_since_has_its_place_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked(monkeypatch)
    looked.lookout.look()
    item = hand_in(looked.store, "ada", received=NOON)

    assert looked.lookout.look(item).places == {item.number: 1}


def test_a_slow_look_serves_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked(monkeypatch, takes=4 * QUICK_SECONDS)
    looked.lookout.look()
    item = hand_in(looked.store, "ada")

    looked.seconds += 4 * QUICK_SECONDS * SHARE - 0.01
    assert looked.lookout.look(item).places == {}
    looked.seconds += 0.02

    assert looked.lookout.look(item).places == {item.number: 1}
