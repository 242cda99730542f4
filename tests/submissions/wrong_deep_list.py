"""Returns a list that is nested without end.

Expect:
    scale: error skipped
    score: 0
    says: nested too deeply
"""


def scale(x, factor):
    items = []
    items.append(items)
    return items
