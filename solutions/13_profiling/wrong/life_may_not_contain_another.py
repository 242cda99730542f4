"""A life inside another is not seen.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-         beside = [j for j in offsets if tensors[j][1] <= last and first <= tensors[j][2]]
+         beside = [j for j in offsets if tensors[j][1] <= first <= tensors[j][2] or tensors[j][1] <= last < tensors[j][2]]
""",
}
