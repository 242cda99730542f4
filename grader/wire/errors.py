"""What can go wrong between the two ends of the wire."""


class WireError(Exception):
    """The other side sent what the protocol does not allow."""


class Closed(WireError):
    """The other side is gone."""


class TooMuch(WireError):
    """The other side's messages hold more memory than they may."""


class Misfit(ValueError):
    """A value of ours that no message can carry."""


class Late(Exception):
    """The deadline passed."""
