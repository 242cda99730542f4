"""Columns beyond D are loaded and multiplied: right for powers of two alone.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         mask=mine, other=0.0,
+         mask=(heads < share)[:, None], other=0.0,
...
-         seen = inside[:, None] & (d < WIDTH)[None, :]
+         seen = inside[:, None]
""",
}
