"""Streams from files and batches: opened, surveyed, encoded, shuffled and read ahead, in bounded memory."""
