"""The processes that have the network, and never private data.

- ``running``: the runner's process; ``execution``: its run; ``following``: a run that starts from a release.
- ``asking``: sends the keeper's questions through the pipe.
- ``egress``: the gate and the sockets; ``providers``: one file for each dialect.
- ``reaching``: opens the gate to a run's API.
- ``approval``, ``console``, ``showing``: what the owner is told, asked and shown; ``dashboard``: the live
  page.
"""
