"""The search is over when one beam has ended.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         if not live:
+         if len(live) < len(beams):
""",
}
