"""With one rank no op is looked at.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
      }
+     if world == 1:
+         return 0.0
""",
}
