"""Measurements: `python -m benchmarks [--quick] [--out FILE] [names...]`. One file a case, one harness."""
