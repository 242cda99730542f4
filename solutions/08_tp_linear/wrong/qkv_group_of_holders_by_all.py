"""The holders' group is made by a call that every rank of the world would have to join.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.__init__": r"""
          self.group, self.replicated = group, shards < world
+         self.holders = None
+         if self.replicated:
+             size = world // shards
+             for first in range(0, world, size):
+                 members = [
+                     dist.get_global_rank(group or dist.group.WORLD, r)
+                     for r in range(first, first + size)
+                 ]
+                 made = dist.new_group(members)
+                 if first <= rank < first + size:
+                     self.holders = made
""",
    "QKVParallelLinear.forward": r"""
-             wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
+             wk, wv = Copy.apply(wk, self.holders), Copy.apply(wv, self.holders)
""",
}
