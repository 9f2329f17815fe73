"""Generators that use the diffusers library.

No other package imports diffusers, and only ``models`` imports this one.
"""
