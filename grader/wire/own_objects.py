"""Where a worker's own objects lie, as it tells before it hears of a submission."""

from enum import IntEnum


class Mark(IntEnum):
    """What lies at an address."""

    FUNCTION = 0
    CODE = 1  # the size is that of its instructions, in bytes
    TYPE = 2
    TUPLE = 3  # the size is its length
    CELL = 4
    BYTES = 5  # that stay as they are
    NAMESPACE = 6  # a dictionary: all that is in it counts, or else the names that are told


# What, address, size, label ("" is that of the last one), addresses of the names that count.
OwnObject = tuple[int, int, int, str, list[int]]
