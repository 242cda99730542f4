"""The site: what the repository says of itself, as pages for a browser, with nothing written twice.

It decides what is a page and where a link leads. Nothing imports it; it has no part in grading.
"""
