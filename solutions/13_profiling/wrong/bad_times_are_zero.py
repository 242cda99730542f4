"""Times that are no numbers are 0.

Fails: trace
"""

LINES = {
    "_timed": r"""
-             raise ValueError(f"{key} of {event.get('name')} is {text!r}, no number") from None
+             times[key] = 0.0
""",
}
