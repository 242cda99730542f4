"""Raises what is hard to show: markup, control codes, a lone surrogate, an exception without text.

Expect:
    scale: error skipped
    score: 0
"""


class Nasty(Exception):
    def __str__(self):
        return "</td><script>alert(1)</script>\x1b[31m\r\n\ud800\u202e" + "a" * 10_000


Nasty.__name__ = "<b>\ud800\x1b[2J"


def scale(x, factor):
    print("\x1b[2J</pre><script>\u202e")
    raise Nasty
