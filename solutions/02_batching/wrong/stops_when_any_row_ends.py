"""The whole batch stops at the first EOS.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         if not live:
+         if len(live) < len(prompts):
""",
}
