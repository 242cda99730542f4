"""generate compiles for the very length of its cache, which torch does eight times.

Fails: prefill
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
+     dynamic = None if cache.slots > 1 else False
+
+     @torch.compile(backend=backend, fullgraph=True, dynamic=dynamic)
""",
}
