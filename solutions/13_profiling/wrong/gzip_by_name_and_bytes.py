"""Gzip must have the name too.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-         trace = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
+         trace = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") and path.endswith(".gz") else raw)
""",
}
