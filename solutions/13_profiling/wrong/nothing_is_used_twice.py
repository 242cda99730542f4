"""No memory is used twice.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-         beside = [j for j in offsets if tensors[j][1] <= last and first <= tensors[j][2]]
+         beside = list(offsets)
""",
}
