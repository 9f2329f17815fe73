"""Processes of a command, and what the kernel lets each of them do.

``confinement`` is imported before anything else, so it and its neighbours use the standard library alone:
``system_calls`` lists what a process may ask of the kernel, ``seccomp`` and ``landlock`` tell the kernel so.
"""
