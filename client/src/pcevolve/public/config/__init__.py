"""Options of a run: declared once, in sections, and read from a file, the environment, ``--set`` and flags.

- ``runner``: ``PublicConfig``, the options that a process with the network may know, in six sections.
- ``owner``: the fields of these sections that only the owner knows.
- ``config``: ``RunConfig``, all options. Its ``public()`` returns those that the runner receives.
- ``options``: the properties of an option, and its names in messages.
- ``declared``: reads options from the models that declare them.
- ``data_source``, ``addresses``, ``workflow``: the values of some options.
- ``sources``: reads options, and remembers for messages where each was given.
- ``files``: the ledger, keys and lists of prompts.
"""
