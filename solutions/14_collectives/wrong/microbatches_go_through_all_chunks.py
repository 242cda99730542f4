"""A microbatch goes through all chunks of a stage before the next one.

Fails: schedules
"""

LINES = {
    "interleaved": r"""
-         for chunk in range(chunks)
-         for place in range(stages)
+         for place in range(stages)
+         for chunk in range(chunks)
""",
}
