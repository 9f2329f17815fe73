"""A folder of public images as a model. A prompt selects by words, an image by nearness. Nothing is generated.

This is the nearest-image simulator of Sim-PE (Lin et al. 2025) behind the interface of every other generator.
A client needs no change, and need not trust the server more. It marks a library's own statements as unchecked. The
package imports no diffusion library, and PyTorch only for ``clip``. Only ``models`` may import this package, after the
port is open.
"""
