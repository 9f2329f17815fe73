"""Options of a run: declared once, in sections; from a file, the environment, ``--set`` and flags.

- ``runner``: ``PublicConfig``, the options that a process with the network may know, in six sections.
- ``owner``: what the same sections hold for the owner alone.
- ``config``: ``RunConfig``, all options; its ``public()`` is what the runner is told.
- ``sources``: where options come from, and what messages call them. ``files``: the ledger, keys and lists of prompts.
"""
