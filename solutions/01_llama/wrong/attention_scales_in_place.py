"""The queries are scaled in place: the caller's tensor changes.

From: variants/plain.py
Fails: attention
"""

LINES = {
    "attention": r"""
-     scores = q.float() @ k.mT / math.sqrt(width)
+     scores = q.div_(math.sqrt(width)).float() @ k.mT
""",
}
