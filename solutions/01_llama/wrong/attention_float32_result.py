"""The result stays in float32, which bfloat16 weights cannot multiply.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     return (weights @ v).to(q.dtype)
+     return weights @ v
""",
}
