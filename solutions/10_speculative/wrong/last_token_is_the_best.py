"""Where there is room for one token only, takes the best at any temperature.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         if temperature == 0:
+         if temperature == 0 or (k > 0 and not guess):
""",
}
