"""The search starts from num_beams copies of the prompt, whose extensions are equal.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-     beams = [_Beam([], 0.0, 0.0, ended=False)]
+     beams = [_Beam([], 0.0, 0.0, ended=False)] * num_beams
""",
}
