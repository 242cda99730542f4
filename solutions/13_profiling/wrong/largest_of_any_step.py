"""Steps of no tokens have tensors.

Fails: memory
"""

LINES = {
    "largest_tensor": r"""
-     _check_step(batch, new, context)
""",
}
