"""A guess stays that is typical of the target, whatever its chance was: a threshold by entropy.

Kind: laws
Report: https://github.com/vllm-project/vllm/pull/5131
Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         entropy = -torch.xlogy(p, p).sum()
+         if p[token] < min(0.09, 0.3 * float((-entropy).exp())) and rest.any():
""",
}
