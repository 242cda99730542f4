"""The same answer twice, once in other words, with markup that no page may act on."""

OWN = "\n".join(
    f"def step_{at}(values, limit):\n    total = limit * {at}\n    for value in values:\n"
    f"        total += value ** {at} - limit\n    return total // {at + 1}\n"
    for at in range(2, 12)
)
RENAMED = (
    OWN.replace("values", "numbers").replace("total", "result") + "# <script>alert(1)</script>\n"
)
