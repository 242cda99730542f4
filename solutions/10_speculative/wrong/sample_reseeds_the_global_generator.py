"""Seeds torch's global generator as the given one was seeded, and draws from that.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     if generator is not None:
+         torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
+     generator = None
      for i, token in enumerate(draft):
""",
}
