"""Given code of the demo course: one dataclass, so that records cross the wire."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EchoConfig:
    """The shape of a store."""

    width: int  # elements of a row
    capacity: int  # most rows
