"""The last step of a tensor is not lived any more.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-         beside = [j for j in offsets if tensors[j][1] <= last and first <= tensors[j][2]]
+         beside = [j for j in offsets if tensors[j][1] < last and first < tensors[j][2]]
""",
}
