"""What is queued before is not waited for.

Fails: measure
"""

LINES = {
    "measure": r"""
-         synchronize()
          start = clock()
""",
}
