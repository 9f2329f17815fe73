"""Writers of texts: language models of transformers, and the bundled word counts, which need no PyTorch.

Only ``models`` may import it, once the port is open.
"""
