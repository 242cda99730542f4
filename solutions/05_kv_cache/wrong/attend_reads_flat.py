"""Reads queries of all heads as one axis, which a view of a batch cannot be.

Fails: attend
"""

LINES = {
    "attend": r"""
+     q = q.view(-1, *q.shape[2:]).view(q.shape)
      new, context = q.shape[2], k.shape[2]
""",
}
