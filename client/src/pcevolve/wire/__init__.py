"""The processes that have the network, and never private data.

- ``running``: the runner's process. ``execution``: the run that this process carries out. ``following``: a
  run that starts from a release.
- ``asking``: sends requests to the keeper through the pipe.
- ``egress``: the gate and the sockets. ``providers``: one file for each dialect.
- ``reaching``: opens a run's record, and greets its API.
- ``console``, ``approval``, ``showing``: facts, questions and progress for the owner, with the live page.
"""
