"""From options to a finished run: the one place that puts all rooms together.

- ``settings``: the options, validated once. ``checks``: what speaks against a run before its data are read.
- ``components``, ``planning``, ``preparation``: what a run is made of, its public plan, and that it can be paid for.
- ``kinds``: what is done in one way with ``images`` and in another with ``texts``: options are checked, data read, a
  plan asked for, a dataset judged, measured and shown.
- ``run_data``, ``shots``: what is read, and whether there is about as much of it as was said.
- ``approval``, ``stopping``: what a person is asked before a run, and told who stops one.
- ``inspection``, ``template``: a private folder looked at, and a configuration file to begin with, without any run.
- ``execution``: the run itself. ``scoring``: its accuracy on held-out data. ``demo``: all of it on this machine,
  of a size that ``probing`` finds.
- ``disclosure``, ``progress``: what the owner is told, before and meanwhile. ``folder``: who may write where.

It may import every room but ``audit`` and ``dp_audit``; only ``cli`` may import it. ``settings`` and ``checks`` import
no library that takes long to load.
"""
