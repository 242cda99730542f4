"""A broadcast to nobody is charged.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-         "broadcast": world if world > 1 else 0,
+         "broadcast": world,
""",
}
