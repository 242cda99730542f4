"""Scores are divided by the root of all heads' width, not of one head's.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     scores = q.float() @ k.mT / math.sqrt(width)
+     scores = q.float() @ k.mT / math.sqrt(heads * width)
""",
}
