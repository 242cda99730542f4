"""Adds up probabilities where their logarithms belong.

Fails: beam
"""

import math

LINES = {
    "beam_search": r"""
-                 total = beam.log_probability + step
+                 total = beam.log_probability + math.exp(step)
""",
}
