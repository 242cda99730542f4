"""attend divides the keys by the root of D where they lie, which may be in the cache.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     scores = (grouped @ keys.unsqueeze(2).mT).float() * q.shape[-1] ** -0.5
+     keys *= q.shape[-1] ** -0.5
+     scores = (grouped @ keys.unsqueeze(2).mT).float()
""",
}
