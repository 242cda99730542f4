"""Free slots are filled with beams of probability 0.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         possible = [beam for beam in found if beam.log_probability > -inf]
+         possible = found
""",
}
