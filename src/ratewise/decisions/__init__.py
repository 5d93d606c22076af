"""Decisions from scores: where to cut them, what can be promised there, and how probable each class is.

Nothing here knows of models: solvers and training ask these functions about scores.
"""
