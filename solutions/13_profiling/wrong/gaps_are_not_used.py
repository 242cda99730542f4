"""Tensors go behind the last that lives with them.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-             if offsets[j] - at >= size:
-                 break
...
-     for i in sorted(range(len(tensors)), key=lambda i: -tensors[i][0]):
+     for i in sorted(range(len(tensors)), key=lambda i: tensors[i][0]):
""",
}
