"""A sum of dx begins as Python's 0 and becomes float32 in the loop: Triton's variables keep a type.

From: variants/passes.py
Fails: backward
"""

LINES = {
    "dx_kernel": r"""
-     sums = tl.zeros([BLOCK], tl.float32)
+     sums = 0
...
-         sums += inner
+         sums += tl.sum(inner)
...
-     level = tl.sum(sums) / width
+     level = sums / width
""",
}
