"""Any instant with Bytes counts.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-         if event.get("name") == "[memory]":
+         if "Bytes" in event.get("args", {}):
""",
}
