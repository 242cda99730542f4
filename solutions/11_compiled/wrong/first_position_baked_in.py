"""The graph keeps the positions that the first step of a size had.

Fails: step, prefill, graphs
"""

LINES = {
    "compile_step": r"""
+     first: dict[int, Tensor] = {}
+
-     @torch.compile(backend=backend, fullgraph=True)
-     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
-         return decode_step(model, cache, tokens, positions, slots)
+     @torch.compile(backend=backend, fullgraph=True)
+     def inner(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+         return decode_step(model, cache, tokens, positions, slots)

+     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+         return inner(tokens, first.setdefault(len(tokens), positions.clone()), slots)
+
      return step
""",
}
