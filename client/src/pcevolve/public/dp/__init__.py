"""Differential privacy: mechanisms, calibration, accounting and attacks.

An event (``public.privacy``) records one kind of access to private data. ``accountants`` computes the ε of
events, with the help of ``curves``, which holds the formulas of single mechanisms. ``attacks`` bounds an
attacker's success. ``calibration`` gives the sensitivity of a query and the largest events that fit a budget.
``mechanisms`` draws the noise. No module of this package handles images, classes, methods or files.

Import from the modules rather than from the package: NumPy, SciPy and OpenDP are slow to load, and most
callers need only one of the modules.
"""
