"""Only the prompt goes through a graph.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     step = compile_step(model, cache, backend)
...
-         token = int(step(torch.tensor([token], device=device), position, slots).argmax())
+         last = torch.tensor([token], device=device)
+         token = int(decode_step(model, cache, last, position, slots).argmax())
""",
}
