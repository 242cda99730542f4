"""Takes memory that belongs to no process alone.

Expect:
    scale: memory skipped
    score: 0
    says: more than the 600 MiB
"""

import mmap


def scale(x, factor):
    kept = []
    while True:
        kept.append(mmap.mmap(-1, 16 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
        kept[-1].write(b"a" * (16 << 20))
