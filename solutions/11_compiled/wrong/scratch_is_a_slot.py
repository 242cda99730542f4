"""A row may name scratch as its slot.

Fails: graphs
"""

LINES = {
    "GraphRunner._check": r"""
-         if len({*slots}) < n or not all(0 <= slot < self._cache.slots for slot in slots):
+         if len({*slots}) < n or not all(0 <= slot <= self._cache.slots for slot in slots):
""",
}
