"""What has the network, and never private data: a run's process that asks an API.

- ``running``: the process; ``execution``: the run; ``following``: one from a release; ``asking``: asks the keeper.
- ``egress``: the gate and the sockets; ``providers``: a file for each dialect; ``reaching``: the gate to a run's API.
- ``approval``, ``console``, ``showing``: what a person is told, asked and shown; ``dashboard``: the page meanwhile.
"""
