"""What runs beside a submission: nothing here is believed, nothing here decides.

It imports the wire, and nothing of the judge's. The judge starts it by name and never imports it;
only ``bench`` does, to run our own answers without a worker.
"""
