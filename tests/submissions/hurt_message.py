"""Raises an exception that cannot be turned into text.

Expect:
    scale: error skipped
    score: 0
    says: its message cannot be shown
"""


class Mute(Exception):
    def __str__(self):
        raise SystemExit


def scale(x, factor):
    raise Mute
