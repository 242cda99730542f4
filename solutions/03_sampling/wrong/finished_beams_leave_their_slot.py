"""Finished beams are put aside, and num_beams live ones go on.

Fails: beam
"""

LINES = {
    "beam_search": r"""
      beams = [_Beam([], 0.0, 0.0, ended=False)]
+     done: list[_Beam] = []
...
-         found = [beam for beam in beams if beam.ended]
+         found = []
...
-         beams = sorted(possible, key=lambda beam: beam.score, reverse=True)[:num_beams]
-     return [(beam.tokens, beam.score) for beam in beams]
+         done += [beam for beam in possible if beam.ended]
+         alive = [beam for beam in possible if not beam.ended]
+         beams = sorted(alive, key=lambda beam: beam.score, reverse=True)[:num_beams]
+     best = sorted(beams + done, key=lambda beam: beam.score, reverse=True)[:num_beams]
+     return [(beam.tokens, beam.score) for beam in best]
""",
}
