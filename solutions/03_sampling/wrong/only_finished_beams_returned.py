"""Beams that are still live at max_new_tokens are not returned.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-     return [(beam.tokens, beam.score) for beam in beams]
+     done = [beam for beam in beams if beam.ended or not max_new_tokens]
+     return [(beam.tokens, beam.score) for beam in done]
""",
}
