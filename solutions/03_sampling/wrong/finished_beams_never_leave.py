"""A finished beam keeps its slot, whatever comes after it.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         beams = sorted(possible, key=lambda beam: beam.score, reverse=True)[:num_beams]
+         possible.sort(key=lambda beam: beam.score, reverse=True)
+         kept = [beam for beam in beams if beam.ended]
+         kept += [beam for beam in possible if beam not in kept][: num_beams - len(kept)]
+         beams = sorted(kept, key=lambda beam: beam.score, reverse=True)
""",
}
