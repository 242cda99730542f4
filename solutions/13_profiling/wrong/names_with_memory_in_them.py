"""Whatever has memory in its name counts.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-         if event.get("name") == "[memory]":
+         if "[memory]" in event.get("name", ""):
""",
}
