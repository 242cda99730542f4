"""Times are float32.

Fails: trace
"""

import numpy as np

LINES = {
    "_timed": r"""
-             times[key] = float(text)
+             times[key] = float(np.float32(text))
""",
}
