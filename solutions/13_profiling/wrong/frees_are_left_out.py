"""What is freed is not subtracted.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-             held[device] += args["Bytes"]
+             held[device] += max(0, args["Bytes"])
""",
}
