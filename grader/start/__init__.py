"""``lab start``: labs that an installation carries, laid out where a student works.

``lab publish --wheel`` puts them here, as ``tree/`` and ``labs.json``; a clone has neither.
"""
