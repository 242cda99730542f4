"""Signing in by an institution's account: OpenID Connect, as an option beside tokens."""
