"""Each step looks at its positions before it runs the graph.

Fails: step
"""

LINES = {
    "compile_step": r"""
      @torch.compile(backend=backend, fullgraph=True)
-     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+     def inner(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
          return decode_step(model, cache, tokens, positions, slots)
+
+     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+         if positions.max().item() >= cache.max_len:
+             raise ValueError("positions are above max_len")
+         return inner(tokens, positions, slots)
""",
}
