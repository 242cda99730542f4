"""The kernel that joins parts also writes the place behind a row, which is the next head's.

Fails: triton
"""

LINES = {
    "_join": r"""
-     tl.store(o + head * WIDTH + d, acc.to(o.dtype.element_ty), mask=d < WIDTH)
+     tl.store(o + head * WIDTH + d, acc.to(o.dtype.element_ty), mask=d <= WIDTH)
""",
}
