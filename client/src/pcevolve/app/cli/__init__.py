"""The command ``pcevolve``: reads options, calls functions, prints results. It decides nothing about a run.

- ``main``: the entry point, which confines the process.
- ``commands``: the list of commands; a command's module is imported when it is used.
- ``options``: makes a command's parameters from the options' declarations. ``help`` formats help pages.
  ``reference`` writes docs/options.md.
"""
