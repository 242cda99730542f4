"""Each bucket has a graph of its own, of which torch keeps eight; a ninth is an error.

Fails: prefill
"""

LINES = {
    "Prefill.__init__": r"""
-         @torch.compile(backend=backend, fullgraph=True)
+         @torch.compile(backend=backend, fullgraph=True, dynamic=False)
""",
}
