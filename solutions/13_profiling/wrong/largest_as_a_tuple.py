"""Name and elements come as a tuple.

Fails: memory
"""

LINES = {
    "largest_tensor": r"""
-     return [name, batch * sizes[name]]
+     return name, batch * sizes[name]
""",
}
