"""Differential privacy: mechanisms, calibration and accounting. It could be a library of its own.

Events (``public.privacy``) say what happened to private data. ``accountants`` say what they cost, with the ``curves``
of single mechanisms, and ``attacks`` how often an attacker can be right; ``calibration`` says how far a unit moves a
query and which events fit a budget, and ``mechanisms`` draws. Nothing here knows images, classes, methods or files.

Import from its modules: NumPy, SciPy and OpenDP take a while to load, and who needs one need not wait for all.
"""
