"""Programs add their share of dweight to what they have loaded, and store it: no atomic.

From: variants/welford.py
Fails: backward
"""

LINES = {
    "short_backward_kernel": r"""
-     tl.atomic_add(sums + columns, dw, mask=mask)
+     tl.store(sums + columns, tl.load(sums + columns, mask=mask, other=0.0) + dw, mask=mask)
""",
}
