"""The group is kept on the class: the layer made last decides for all.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.__init__": r"""
-         self.group, self.gather_output = group, gather_output
+         ColumnParallelLinear.group = group
+         self.gather_output = gather_output
""",
}
