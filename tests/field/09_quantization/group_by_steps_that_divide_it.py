"""The group's number is counted in steps of 32 columns: a group of fewer, or of odd ones, is missed.

From: variants/simple.py
Kind: sizes
Report: https://github.com/foundation-model-stack/foundation-model-stack/issues/153
Fails: kernel
"""

LINES = {
    "matmul_kernel": r"""
-             place = out * (width // group) + column // group
+             place = out * (width // group) + tl.minimum(
+                 column // 32 // tl.maximum(group // 32, 1), width // group - 1
+             )
""",
}
