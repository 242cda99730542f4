"""Chunk c of stage r is taken for block r v + c.

Fails: schedules
"""

LINES = {
    "simulate": r"""
-                 block = chunk * stages + stage
+                 block = stage * count + chunk
""",
}
