"""From options to a finished run, seen from who starts its processes, and what people do before one.

- ``preflight``: refusals before a run's data are read; it imports no library that takes long to load.
- ``apart``: a run in processes of their own; ``containers``: in two containers; ``whole``: a run of any kind.
- ``first``: a demonstration, a file of options, prompts, a price, a look at the machine.
"""
