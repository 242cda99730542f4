"""Heads that cannot be divided are refused without a name.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
-             raise ValueError(f"num_heads={num_heads} is not divisible by {world} ranks")
+             raise ValueError(f"{num_heads} heads are not divisible by {world} ranks")
...
-             raise ValueError(f"num_kv_heads={num_kv_heads} do not fit {world} ranks")
+             raise ValueError(f"{num_kv_heads} heads do not fit {world} ranks")
""",
}
