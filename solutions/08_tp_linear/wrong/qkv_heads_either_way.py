"""Query heads may be fewer than ranks, as key/value heads may.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-         if num_heads % world:
+         if num_heads % world and world % num_heads:
""",
}
