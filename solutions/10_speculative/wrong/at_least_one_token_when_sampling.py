"""Draws a token even if max_new_tokens is 0.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-     while len(text) < end and not ended:
-         # The round adds a token of the target's own, so one guess less than there is room.
-         room = min(k, end - len(text) - 1)
+     while (len(text) < end or (temperature and len(text) == len(prompt))) and not ended:
+         # The round adds a token of the target's own, so one guess less than there is room.
+         room = max(0, min(k, end - len(text) - 1))
""",
}
