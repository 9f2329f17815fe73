"""Options of a run: declared once, in sections; from a file, the environment, ``--set`` and flags.

- ``sections``: the seven sections and their options. ``config``: ``RunConfig``, with the parameters of every method.
- ``sources``: where options come from, and what messages call them. ``files``: the ledger, keys and lists of prompts.
"""
