"""A slot that is there twice is found where both stand side by side.

Fails: graphs
"""

LINES = {
    "GraphRunner._check": r"""
-         if len({*slots}) < n or not all(0 <= slot < self._cache.slots for slot in slots):
+         twice = any(one == other for one, other in zip(slots, slots[1:], strict=False))
+         if twice or not all(0 <= slot < self._cache.slots for slot in slots):
""",
}
