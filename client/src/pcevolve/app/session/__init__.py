"""The session of a run, from options to result, on the side that starts its processes.

- ``preflight``: checks options before a run's data are read; imports nothing slow.
- ``staff``: carries a run out in separate processes.
- ``orders``: messages between these processes and the process that starts them.
- ``access``: the files that each process may open.
- ``containers``: a run in two containers. ``joining``: a run with several owners.
- ``judge``: the process that measures a run's result.
"""
