"""Sequences are found by H x T x D, as if q, k and v were contiguous.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "flash_attention": r"""
-         *q.stride(), *k.stride(), *v.stride(), *o.stride(),
+         H * T * D, *q.stride()[1:], G * S * D, *k.stride()[1:], G * S * D, *v.stride()[1:],
+         *o.stride(),
""",
}
