"""Models that write texts: language models of transformers, and the bundled word counts, which need no PyTorch.

Only ``models`` may import this package, after the port is open.
"""
