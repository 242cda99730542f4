"""The judge: grade a submission of a lab without ever running student code in this process."""

__version__ = "0.1.0"
