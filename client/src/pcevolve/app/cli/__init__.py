"""The command ``pcevolve``: reads options, calls functions, prints results. It makes no decision about a run.

- ``main``: the entry, which confines the process.
- ``commands``: lists the commands; a command's module is imported when it is used.
- ``options``: generates options from their declarations; ``help`` draws them; ``reference`` writes
  docs/options.md.
"""
