"""Room ahead of the first living tensor is never given out.

Kind: sizes
Report: https://github.com/google/XNNPACK/issues/10800
Fails: memory
"""

LINES = {
    "plan_memory": r"""
-         for j in sorted(beside, key=offsets.__getitem__):
-             if offsets[j] - at >= size:
+         for j in sorted(beside, key=offsets.__getitem__):
+             if at > 0 and offsets[j] - at >= size:
""",
}
