"""Days of a calendar, where clocks are put forward and back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.days import days_after, days_begun

BERLIN = ZoneInfo("Europe/Berlin")
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))
ZONES = st.sampled_from([UTC, *map(ZoneInfo, ("Europe/Berlin", "America/St_Johns", "Asia/Tokyo"))])


@pytest.mark.parametrize(
    ("moment", "count", "then"),
    [
        ("2026-06-01T21:59:00+00:00", 2, "2026-06-03T21:59:00+00:00"),
        ("2026-10-24T10:00:00+00:00", 1, "2026-10-25T11:00:00+00:00"),  # 25 hours
        ("2026-03-28T11:00:00+00:00", 1, "2026-03-29T10:00:00+00:00"),  # 23 hours
        ("2026-03-28T01:30:00+00:00", 1, "2026-03-29T01:30:00+00:00"),  # half past two is left out
        ("2026-10-25T01:30:00+00:00", 0, "2026-10-25T01:30:00+00:00"),  # the second half past two
    ],
)
def test_a_day_later_clocks_show_the_same(moment: str, count: int, then: str) -> None:
    found = days_after(datetime.fromisoformat(moment), count, BERLIN)

    assert found == datetime.fromisoformat(then)


@given(MOMENTS, st.timedeltas(timedelta(0), timedelta(days=400)), ZONES)
def test_days_begun_are_the_fewest_that_reach_a_moment(
    since: datetime, more: timedelta, zone: ZoneInfo
) -> None:
    moment = since + more

    count = days_begun(since, moment, zone)

    assert moment <= days_after(since, count, zone)
    assert count == 0 or moment > days_after(since, count - 1, zone)


def test_nothing_has_begun_before_the_moment_has_passed() -> None:
    noon = datetime(2026, 10, 1, 12, tzinfo=UTC)

    assert days_begun(noon, noon, BERLIN) == 0
    assert days_begun(noon, noon - timedelta(days=3), BERLIN) == 0
    assert days_begun(noon, noon + timedelta(seconds=1), BERLIN) == 1
