"""Codes are read as words of 32 bits, also where they begin in the middle of one.

Fails: kernel, speed
"""

LINES = {
    "_whole_chunks": r"""
-     aligned = stored.data_ptr() % CHUNK == 0 and stored.storage_offset() % 4 == 0
-     return aligned and stored.shape[1] % CHUNK == 0
+     return stored.shape[1] % CHUNK == 0
""",
}
