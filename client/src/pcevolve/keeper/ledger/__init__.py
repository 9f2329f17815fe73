"""The ledger: what was ever spent on whom, across runs, in one SQLite file with a key beside it.

``ledger`` is the door (``Ledger``, ``Account``). ``account`` pays, ``others`` and ``overlap`` add up what others did
to the same ``units``, ``refusals`` says why not, ``entries`` reads and writes rows, ``store`` seals them, ``holder``
names who has locked them, ``creation`` makes the file and its key.

Import from its modules, because accounting needs SciPy.
"""
