"""length is a tensor on the device of the memory.

Fails: static
"""

LINES = {
    "StaticCache.__init__": r"""
-         self.length = 0
+         self.length = torch.zeros((), dtype=torch.int64, device=device)
""",
    "StaticCache.update": r"""
-         self.length = end
+         self.length.fill_(end)
""",
    "StaticCache.reset": r"""
-         self.length = 0
+         self.length.zero_()
""",
}
