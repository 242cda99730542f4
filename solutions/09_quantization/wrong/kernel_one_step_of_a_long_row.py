"""The kernel for one row takes the columns of its first step alone: a row of 4096 is whole.

Fails: kernel
"""

LINES = {
    "_vector4_kernel": r"""
-     for start in range(0, chunks, CHUNKS):
+     for start in range(0, CHUNKS, CHUNKS):
""",
}
