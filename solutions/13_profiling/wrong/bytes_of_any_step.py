"""Steps of no tokens have bytes.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-     _check_step(batch, new, context)
""",
}
