"""compile_step gives the eager function back.

Fails: step, prefill, graphs
"""

LINES = {
    "compile_step": r"""
-     @torch.compile(backend=backend, fullgraph=True)
      def step(tokens: Tensor, positions: Tensor, slots: Tensor) -> Tensor:
""",
}
