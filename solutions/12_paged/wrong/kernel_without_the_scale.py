"""The kernel does not scale.

Fails: triton, speed
"""

LINES = {
    "paged_attention": r"""
-         o.stride(), width**-0.5 * LOG2_E, share, size,
+         o.stride(), LOG2_E, share, size,
""",
}
