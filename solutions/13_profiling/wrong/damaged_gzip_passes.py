"""A zip that is damaged inside raises what it likes.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     except (ValueError, EOFError, OSError, zlib.error) as error:
+     except (ValueError, EOFError, gzip.BadGzipFile) as error:
""",
}
