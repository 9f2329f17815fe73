"""The diffusers implementation of the Generator; the only package that imports torch or diffusers."""
