"""The rules: who may hand in when, what runs next, what of a verdict one may read."""
