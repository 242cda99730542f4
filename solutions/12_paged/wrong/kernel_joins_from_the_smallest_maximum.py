"""Parts of a row are weighed from the smallest of their maxima, which overflows where they differ.

Fails: triton
"""

LINES = {
    "_join": r"""
-     top = tl.max(logs, 0)
+     top = tl.min(logs, 0)
""",
}
