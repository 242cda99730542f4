"""Never ends while it is imported.

Expect:
    scale: timeout skipped
    store: skipped
    loop: skipped
    score: 0
"""

while True:
    pass
