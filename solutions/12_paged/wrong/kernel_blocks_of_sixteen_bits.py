"""The number of a block is kept in sixteen bits.

Fails: triton, speed
"""

LINES = {
    "_attend": r"""
-         ).to(tl.int64)  # fmt: skip
+         ).to(tl.int16).to(tl.int64)  # fmt: skip
""",
}
