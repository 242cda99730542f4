"""temperature divides the caller's tensor.

Fails: filters
"""

LINES = {
    "temperature": r"""
-     return (logits.float() / t).to(logits.dtype)
+     return logits.div_(t)
""",
}
