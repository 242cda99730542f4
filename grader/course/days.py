"""Days as the calendar of a time zone counts them: some have 23 hours, and some 25."""

from datetime import UTC, datetime, timedelta, tzinfo

DAY = timedelta(days=1)


def day_of(moment: datetime, zone: tzinfo) -> datetime:
    """Return when the day of a moment began."""
    return moment.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)


def next_day(moment: datetime, zone: tzinfo) -> datetime:
    """Return when the day after a moment's begins."""
    return days_after(day_of(moment, zone), 1, zone)


def days_after(moment: datetime, count: int, zone: tzinfo) -> datetime:
    """Return the moment, in UTC, at which clocks of the zone show the same time, days later.

    Where that time is left out on that day, it is as long after the day's beginning as if it
    were not; where it comes twice, the first counts.
    """
    local = moment.astimezone(zone)
    later = local.replace(tzinfo=None) + count * DAY
    # A moment of an hour that comes twice stays itself.
    fold = local.fold if count == 0 else 0
    return later.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def days_begun(since: datetime, moment: datetime, zone: tzinfo) -> int:
    """Return how many days have begun from one moment to a later one; 0 if it is not later."""
    count = max(0, (moment - since) // DAY - 1)  # never too many, by what the clock was put
    while moment > days_after(since, count, zone):
        count += 1
    return count
