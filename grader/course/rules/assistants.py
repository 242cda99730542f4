"""What a course asks of assistants: programs that write code for whoever asks them."""

from enum import StrEnum


class Assistants(StrEnum):
    """How far the assistants of students are asked to go; none of it is a wall."""

    TUTOR = "tutor"  # teach by questions, and write no code of a task
    STRICT = "strict"  # leave graded tasks alone
    OFF = "off"  # nothing is asked of them
