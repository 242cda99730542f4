"""Each further size is the best beside those that were chosen before.

From: compiled.py
Fails: buckets
"""


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    if count < 1:
        raise ValueError(f"count {count} is less than 1")
    if not histogram:
        return []
    rows = [int(n) for n in histogram]
    sizes = [max(rows)]

    def padded(sizes: list[int]) -> int:
        return sum(times * (bucket(int(n), sizes) - int(n)) for n, times in histogram.items())

    while len(sizes) < min(count, len(rows)):
        sizes.append(min((n for n in rows if n not in sizes), key=lambda n: padded([*sizes, n])))
    return sorted(sizes)
