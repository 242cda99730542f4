"""Each step makes a list of its slots to see whether they exist.

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
+         if max(slots.tolist()) > cache.slots:
+             raise ValueError("slots are out of range")
+         return inner(tokens, positions, slots)
""",
}
