"""A schedule that never ends gives what it has come to.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-     if any(place < len(order) for place, order in zip(places, schedule, strict=True)):
-         raise ValueError("the schedule never ends: each stage waits for what another has not done")
""",
}
