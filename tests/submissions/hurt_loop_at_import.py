"""Never ends while it is imported.

Expect:
    scale: timeout skipped
    score: 0
"""

while True:
    pass
