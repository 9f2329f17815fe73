"""The ledger: the budget spent on each privacy unit, across runs, in one SQLite file with a key beside it.

``ledger`` is the interface (``Ledger``, ``Account``). ``account`` pays. ``others`` and ``overlap`` sum up
other runs' events on the same ``units``. ``refusals`` words the refusals. ``entries`` reads and writes rows,
``store`` seals rows and names the process with the lock, ``creation`` makes the file and its key. Import
from the modules directly: the package itself loads nothing, because accounting needs SciPy.
"""
