"""From options to a finished run, seen from who starts its processes.

- ``preflight``: refusals before a run's data are read; it imports no library that takes long to load.
- ``staff``: a run in processes of their own; ``orders``: what passes between them and who starts them; ``reach``: what
  files each may open.
- ``containers``: the same in two containers; ``joining``: with several owners.
- ``judge``: the process that measures what a run made.
"""
