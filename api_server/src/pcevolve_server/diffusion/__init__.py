"""Generators of the diffusers library; the only package that imports it. May be imported by ``models`` alone."""
