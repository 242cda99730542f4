"""Small Llamas with weights: random ones to test with, and the labs' two, trained and measured.

Suites use ``checkpoint`` alone; what trains needs packages that no oracle may import.
"""
