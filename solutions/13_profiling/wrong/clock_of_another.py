"""An own clock is looked at.

Fails: measure
"""

import time

LINES = {
    "measure": r"""
-         start = clock()
+         start = time.perf_counter()
...
-         times.append(clock() - start)
+         times.append(time.perf_counter() - start)
""",
}
