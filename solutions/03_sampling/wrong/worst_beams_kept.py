"""The beams of the lowest score survive.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         beams = sorted(possible, key=lambda beam: beam.score, reverse=True)[:num_beams]
+         beams = sorted(possible, key=lambda beam: beam.score)[:num_beams]
""",
}
