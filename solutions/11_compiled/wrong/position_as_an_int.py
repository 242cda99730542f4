"""Positions enter the graph as numbers of the program, which it is compiled for.

Fails: step, prefill, graphs
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
-     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
-         return decode_step(model, cache, tokens, positions, slots)
+     @torch.compile(backend=backend)
+     def inner(tokens: Tensor, places: list[int], slots: Tensor) -> Tensor:
+         positions = torch.tensor(places, device=tokens.device)
+         return decode_step(model, cache, tokens, positions, slots)

+     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+         return inner(tokens, [int(position) for position in positions], slots)
+
      return step
""",
}
