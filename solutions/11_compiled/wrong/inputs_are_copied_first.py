"""Graph inputs are copies of the step's tensors, which nobody else can fill.

Fails: step
"""

LINES = {
    "compile_step": r"""
-     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+     def inner(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
          return decode_step(model, cache, tokens, positions, slots)
+
+     def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
+         return inner(tokens.clone(), positions.clone(), slots.clone())
""",
}
