"""From options to a finished run: the one place that puts all rooms together.

- ``settings``: the options, validated once. ``checks``: what speaks against a run before its data are read.
- ``components``, ``planning``, ``preparation``: what a run is made of, its public plan, and that it can be paid for.
- ``execution``: the run itself. ``scoring``: its accuracy on held-out data. ``demo``: all of it on this machine.
- ``disclosure``, ``progress``: what the owner is told, before and meanwhile. ``folder``: who may write where.

It may import every room but ``audit`` and ``dp_audit``; only ``cli`` may import it. ``settings`` and ``checks`` import
no library that takes long to load.
"""
