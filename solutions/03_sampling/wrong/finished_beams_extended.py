"""A beam goes on after its EOS.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-                 found.append(_Beam([*beam.tokens, token], total, score, token == eos_id))
+                 found.append(_Beam([*beam.tokens, token], total, score, False))
""",
}
