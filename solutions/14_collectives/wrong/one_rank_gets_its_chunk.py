"""With one rank the result is chunk itself.

Fails: all_gather
"""

LINES = {
    "all_gather": r"""
-     whole = chunk.new_empty(n)
+     if world == 1:
+         return chunk
+     whole = chunk.new_empty(n)
""",
}
