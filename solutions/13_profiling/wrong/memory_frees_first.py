"""Of events at one ts frees come first.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-     for event in events:
+     for event in sorted(events, key=lambda e: (e["ts"], e.get("args", {}).get("Bytes", 0))):
""",
}
