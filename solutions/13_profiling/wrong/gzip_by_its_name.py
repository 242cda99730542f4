"""Gzip is known by the name of the file.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-         trace = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
+         trace = json.loads(gzip.decompress(raw) if path.endswith(".gz") else raw)
""",
}
