"""The list of tensors is sorted in place.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-     offsets: dict[int, int] = {}
+     offsets: dict[int, int] = {}
+     tensors.sort(reverse=True)
""",
}
