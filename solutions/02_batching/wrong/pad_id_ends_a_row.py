"""Takes a generated pad_id for the end of the row.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-         live = [i for i in live if chosen[i] not in eos_ids]
+         live = [i for i in live if chosen[i] not in (*eos_ids, pad_id)]
""",
}
