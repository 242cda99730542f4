"""Guesses are judged by random numbers of bfloat16, of which there are 256.

Kind: precision
Report: https://github.com/NVIDIA/Megatron-LM/pull/7182
Fails: sample
"""

LINES = {
    "_uniform": r"""
-         torch.rand((), generator=generator, device=generator.device if generator else "cpu")
+         torch.rand(
+             (), generator=generator, dtype=torch.bfloat16,
+             device=generator.device if generator else "cpu",
+         )
""",
}
