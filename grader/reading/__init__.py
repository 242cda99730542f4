"""What is judged of a submission without running it.

The parser runs in a limited process without site-packages (``reader`` starts it); its modules
import the standard library and each other. The judge, the proof of a lab and the search for leaks
use this.
"""
