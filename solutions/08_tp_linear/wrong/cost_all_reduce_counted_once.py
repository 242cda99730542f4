"""An all-reduce is charged for its first half.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-         "all_reduce": 2 * (world - 1),
+         "all_reduce": world - 1,
""",
}
