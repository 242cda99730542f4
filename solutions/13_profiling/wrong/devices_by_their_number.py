"""CPU and GPU of one number share a sum.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-             device = args["Device Type"], args["Device Id"]
+             device = args["Device Id"]
""",
}
