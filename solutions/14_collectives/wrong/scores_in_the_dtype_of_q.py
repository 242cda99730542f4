"""Scores are computed in the dtype of q and k.

Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             scores = queries @ keys.mT
+             scores = (queries.to(q.dtype) @ keys.to(k.dtype).mT).float()
""",
}
