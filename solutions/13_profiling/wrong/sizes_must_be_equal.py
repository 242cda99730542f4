"""Memory is used again by tensors of its size alone.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-         beside = [j for j in offsets if tensors[j][1] <= last and first <= tensors[j][2]]
+         beside = [j for j in offsets if size != tensors[j][0] or tensors[j][1] <= last and first <= tensors[j][2]]
""",
}
