"""The command ``pcevolve``: reads options, calls, prints. No decision about a run is made here.

``main`` is the entry, which confines the process; ``commands`` lists the commands, each with its module, which is
imported when it is used. Options are generated from their declarations (``options``), drawn by ``help`` and written to
docs/options.md by ``reference``.
"""
