"""A folder of public images as a model: a prompt draws by words, an image by nearness; nothing is generated.

This is the nearest-image simulator of Sim-PE (Lin et al. 2025) behind the interface of every other generator.
A client needs no change and no more trust, and marks a library's own statements as unchecked. The package
imports no diffusion library, and PyTorch for ``clip`` only. Only ``models`` may import it, once the port is
open.
"""
