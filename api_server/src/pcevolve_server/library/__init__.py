"""A folder of public images as a model: prompts draw from it by words, images by nearness; nothing is generated.

The nearest-image simulator of Sim-PE (Lin et al. 2025) behind the interface of every other generator: a client needs no
change, trusts nothing that it did not trust before, and quotes as unchecked what a library says of itself. Imports no
diffusion library, and PyTorch for ``clip`` alone. May be imported by ``models`` alone, once the port is open.
"""
