"""An EOS in the prompt ends the search.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-     beams = [_Beam([], 0.0, 0.0, ended=False)]
+     beams = [_Beam([], 0.0, 0.0, ended=eos_id in prompt)]
""",
}
