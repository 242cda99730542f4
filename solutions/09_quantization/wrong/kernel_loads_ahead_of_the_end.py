"""Loads the words of the step that follows the last, which is beyond the row, or the tensor.

Fails: kernel
"""

LINES = {
    "_vector4_kernel": r"""
-         if WHOLE:  # no mask holds the last step back: it loads its own words again
-             following = tl.minimum(following, chunks - CHUNKS)
""",
}
