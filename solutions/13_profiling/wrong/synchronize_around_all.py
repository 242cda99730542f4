"""All repeats are timed at once, and divided.

Fails: measure
"""

LINES = {
    "measure": r"""
-     for _ in range(repeats):
-         synchronize()
-         start = clock()
-         fn()
-         synchronize()
-         times.append(clock() - start)
+     synchronize()
+     start = clock()
+     for _ in range(repeats):
+         fn()
+     synchronize()
+     times = [(clock() - start) / repeats] * repeats
""",
}
