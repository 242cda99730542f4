"""Scores are not divided by the root of D.

From: variants/plain.py
Fails: attend
"""

LINES = {
    "attend": r"""
-     scores = (grouped @ keys.unsqueeze(2).mT).float() * q.shape[-1] ** -0.5
+     scores = (grouped @ keys.unsqueeze(2).mT).float()
""",
}
