"""A program writes dx for a whole tile, also for the rows of the next program: the values agree.

From: variants/tiles.py
Kind: gradients
Report: https://github.com/fla-org/flash-linear-attention/pull/1249
Fails: backward
"""

LINES = {
    "backward_kernel": r"""
-     for row in range(first, last):
+     for row in range(first, tl.minimum(last + 1, num_rows)):
+         owned = tl.where(row < last, 1.0, 0.0)
...
-             dw += up * normal
-             db += up
+             dw += up * normal * owned
+             db += up * owned
...
-                 tl.store(dweight + columns, kept + up * normal, mask=mask)
+                 tl.store(dweight + columns, kept + up * normal * owned, mask=mask)
...
-                 tl.store(dbias + columns, kept + up, mask=mask)
+                 tl.store(dbias + columns, kept + up * owned, mask=mask)
""",
}
