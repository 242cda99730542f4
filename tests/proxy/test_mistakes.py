"""What a finding of the sanitizer costs, and how it is told."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from grader.errors import Mismatch, StudentError
from grader.proxy.mistakes import assert_no_findings, assert_right_in_any_order
from grader.proxy.readings import Mistake, Sanitized


def mistake(kind: str = "write-write", line: int = 7, count: int = 1) -> Mistake:
    return Mistake(kind, line, "y", f"Program 1 writes y[{line}].", count)


class Followed:
    """A student whose launches have, in each order, the findings given."""

    def __init__(self, *, follows: bool = True, **found: list[Mistake]) -> None:
        self.follows, self.found = follows, found
        self.orders: list[tuple[str, int]] = []

    @contextmanager
    def sanitized(self, order: str, seed: int) -> Generator[Sanitized]:
        self.orders.append((order, seed))
        reading = Sanitized()
        yield reading
        reading.found = self.found.get(order or "plain", [])


def anything(got: object) -> None:
    pass


def test_findings_are_told_with_kind_line_and_text() -> None:
    with pytest.raises(Mismatch) as told:
        assert_no_findings(Sanitized([mistake(line=n, count=n) for n in (1, 1200, 3, 4, 5)]))

    assert str(told.value) == (
        "write-write, line 1: Program 1 writes y[1].; "
        "write-write, line 1200: Program 1 writes y[1200]. (1,200 lanes in all); "
        "write-write, line 3: Program 1 writes y[3]. (3 lanes in all); and 2 more"
    )


def test_what_a_card_has_no_room_for_is_no_race() -> None:
    assert_no_findings(Sanitized([mistake("too large")]))


@pytest.mark.parametrize("order", ["plain", "shuffled"])
def test_a_finding_in_either_order_fails(order: str) -> None:
    student = Followed(follows=True, **{order: [mistake()]})

    with pytest.raises(Mismatch, match="write-write, line 7"):
        assert_right_in_any_order(student, lambda: 1, anything, 5)


def test_a_result_that_depends_on_the_order_fails() -> None:
    student, results = Followed(), iter([1, 2])

    def compare(got: int) -> None:
        if got != 1:
            raise Mismatch(f"{got} is not 1")

    with pytest.raises(Mismatch, match="with the programs in another order: 2 is not 1"):
        assert_right_in_any_order(student, lambda: next(results), compare, 5)
    assert student.orders == [("", 5), ("shuffled", 5)]


def test_a_finding_says_more_than_the_error_that_it_led_to() -> None:
    def call() -> None:
        raise StudentError("IndexError", "somewhere")

    with pytest.raises(Mismatch, match="outside, line 7"):
        assert_right_in_any_order(Followed(plain=[mistake("outside")]), call, anything, 5)
    with pytest.raises(StudentError):
        assert_right_in_any_order(Followed(), call, anything, 5)


def test_on_a_gpu_the_result_is_looked_at_twice() -> None:
    student, seen = Followed(follows=False, plain=[mistake()]), list[int]()

    assert_right_in_any_order(student, lambda: 3, seen.append, 5)

    assert (seen, student.orders) == ([3, 3], [])
