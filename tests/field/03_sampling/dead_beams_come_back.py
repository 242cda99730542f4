"""The first step starts from num_beams beams, all but one with -1e9, which is no -inf.

Kind: levels
Report: https://github.com/OpenNMT/OpenNMT-py/issues/1844
Fails: beam
"""

LINES = {
    "beam_search": r"""
-     # One beam, not num_beams copies: copies would find the same continuations.
-     beams = [_Beam([], 0.0, 0.0, ended=False)]
+     beams = [_Beam([], -1e9 * (i > 0), 0.0, ended=False) for i in range(num_beams)]
...
-     return [(beam.tokens, beam.score) for beam in beams]
+     return [(beam.tokens, beam.score) for beam in beams[: num_beams if max_new_tokens else 1]]
""",
}
