"""The loop of the library triples.

Fails: kernel, wrapper
"""

LINES = {
    "twice.cpp": r"""
-   for (int64_t i = 0; i < x.numel(); ++i) to[i] = 2 * from[i];
+   for (int64_t i = 0; i < x.numel(); ++i) to[i] = 3 * from[i];
""",
}
