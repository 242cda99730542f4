"""Scores are not divided by sqrt(D).

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     (heads, new, width), (groups, context) = q.shape[1:], k.shape[1:3]
+     (heads, new, _), (groups, context) = q.shape[1:], k.shape[1:3]
...
-     scores = q.float() @ k.mT / math.sqrt(width)
+     scores = q.float() @ k.mT
""",
}
