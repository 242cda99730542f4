"""Each batch size has a graph of its own, of which torch keeps eight; the rest runs eager.

Kind: sizes
Report: https://github.com/NVIDIA/TensorRT-LLM/issues/6142
Fails: step
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
+     @torch.compile(backend=backend, dynamic=False)
""",
}
