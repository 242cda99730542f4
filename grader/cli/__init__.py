"""Parse, call, print, exit code.

Nothing imports this. Folders that some trees lack, ``course/commands`` and ``bench``, it finds by
looking.
"""
