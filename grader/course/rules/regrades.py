"""Which grading of one work counts, where it was graded more than once."""

from enum import StrEnum


class RegradeRule(StrEnum):
    """The newest takes effect whatever it says, or only if nobody loses by it."""

    NEWEST = "newest"
    BETTER = "better"
