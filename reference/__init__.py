"""The oracles: float64, obvious, one operator family per file.

What they and the suites need beside formulas has rooms: ``models`` and ``scripted`` to run,
``limits`` and ``ends`` for what rounding may do. ``engine/`` is no oracle: it is built for speed,
held against them itself, and judges nothing.
"""
