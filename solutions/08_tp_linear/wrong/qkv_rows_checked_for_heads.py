"""That the rows can be divided is taken for that the heads can.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         if num_heads % world:
+         if wq.shape[0] % world:
""",
}
