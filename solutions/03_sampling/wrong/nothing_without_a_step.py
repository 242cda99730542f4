"""max_new_tokens = 0 gives no beam.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-     return [(beam.tokens, beam.score) for beam in beams]
+     return [(beam.tokens, beam.score) for beam in beams if beam.tokens]
""",
}
