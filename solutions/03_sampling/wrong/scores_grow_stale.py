"""A finished beam is scored by the length of the live ones.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         found = [beam for beam in beams if beam.ended]
+         found = [
+             _Beam(b.tokens, b.log_probability, b.log_probability / length**length_penalty, True)
+             for b in beams
+             if b.ended
+         ]
""",
}
