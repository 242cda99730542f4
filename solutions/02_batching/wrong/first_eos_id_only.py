"""Looks at the first EOS id only.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         live = [i for i in live if chosen[i] not in eos_ids]
+         live = [i for i in live if chosen[i] not in eos_ids[:1]]
""",
}
