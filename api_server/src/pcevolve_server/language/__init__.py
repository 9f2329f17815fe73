"""Writers of texts: language models of transformers, and the bundled counts of words, which need no PyTorch.

May be imported by ``models`` alone, once the port is open.
"""
