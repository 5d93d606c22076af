"""The parts of benchmarks/streams.py, one file each."""
