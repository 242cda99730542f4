"""``lab repeat``: a failing public test as a script."""
