"""A guess stays if a draw from the target comes to it; what replaces it is of the residual.

Kind: laws
Report: https://github.com/ml-explore/mlx-swift-lm/pull/459
Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         if _draw(p, generator) != token and rest.any():
""",
}
