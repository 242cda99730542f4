"""Zipped files are not read.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-         trace = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
+         trace = json.loads(raw)
""",
}
