"""The sections of benchmarks/speed.py, one file each, and what they share."""
