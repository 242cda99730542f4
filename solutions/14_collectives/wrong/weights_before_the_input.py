"""The weights' gradient comes before that of the input, for which others wait.

Fails: schedules
"""

LINES = {
    "zero_bubble": r"""
-             items.append([kind, microbatch, chunk])
-             late += kind == "B"
+             late += kind == "B"
+             if kind == "B":
+                 items.append(["W", microbatch, 0])
+             items.append([kind, microbatch, chunk])
...
-             if late > stage:
-                 items.append(["W", last, 0])
-                 last, late = last + 1, late - 1
-         items += [["W", microbatch, 0] for microbatch in range(last, microbatches)]
""",
}
