"""The sizes are powers of two below the largest.

From: compiled.py
Fails: buckets
"""


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    if count < 1:
        raise ValueError(f"count {count} is less than 1")
    if not histogram:
        return []
    sizes = [max(map(int, histogram))]
    while len(sizes) < count and sizes[-1] > 1:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]
