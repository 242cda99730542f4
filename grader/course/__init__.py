"""Course operations, for instructors: a student's tree is without this package.

What lies flat here, the configuration and git, all of its packages may use.
"""
