"""The processes that have the network, and never private data.

- ``running``: the runner's process; ``execution``: its run; ``following``: a run that starts from a release.
- ``asking``: sends the keeper's questions through the pipe.
- ``egress``: the gate and the sockets; ``providers``: one file for each dialect.
- ``reaching``: reaches and greets a run's API.
- ``console``, ``approval``, ``showing``: what the owner is told, asked and shown, with the live page.
"""
