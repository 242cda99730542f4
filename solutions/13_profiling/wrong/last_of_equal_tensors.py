"""Of equal tensors the last is named.

Fails: memory
"""

LINES = {
    "largest_tensor": r"""
-     name = max(sizes, key=sizes.__getitem__)  # the first of several
+     name = max(reversed(sizes), key=sizes.__getitem__)
""",
}
