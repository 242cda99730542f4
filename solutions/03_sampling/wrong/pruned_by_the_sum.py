"""Slots go by the sum of log-probabilities; the length enters only at the end.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         beams = sorted(possible, key=lambda beam: beam.score, reverse=True)[:num_beams]
+         beams = sorted(possible, key=lambda beam: beam.log_probability, reverse=True)[:num_beams]
+     beams.sort(key=lambda beam: beam.score, reverse=True)
""",
}
