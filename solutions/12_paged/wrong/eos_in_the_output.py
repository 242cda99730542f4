"""The EOS is kept in the output.

Fails: scheduler
"""

LINES = {
    "Scheduler.commit": r"""
-             if token not in state.eos_ids:
-                 state.output.append(token)
+             state.output.append(token)
""",
}
