"""Options of a run: declared once, in sections; read from a file, the environment, ``--set`` and flags.

- ``runner``: ``PublicConfig``, the options that a process with the network may know, in six sections.
- ``owner``: the fields of these sections that only the owner knows.
- ``config``: ``RunConfig``, all options; its ``public()`` is what the runner is told.
- ``options``: what an option is, and how messages name it; ``declared``: reads them from models.
- ``data_source``, ``addresses``, ``workflow``: what some options hold.
- ``sources``: reads options, and remembers their spelling for messages.
- ``files``: the ledger, keys and lists of prompts.
"""
