"""Differential privacy: mechanisms, calibration, accounting and attacks.

Events (``public.privacy``) record what was done to private data. ``accountants`` price events, with the
``curves`` of single mechanisms. ``attacks`` bounds an attacker's success. ``calibration`` gives the
sensitivity of a query and the largest events that fit a budget. ``mechanisms`` draws the noise. Nothing here
knows images, classes, methods or files.

Import from the modules, not from here: NumPy, SciPy and OpenDP are slow to load, and most callers need only
one.
"""
