"""Processes of a command, and the system calls and files that the kernel allows each of them.

``confinement`` is imported before anything else, so it and its neighbours use the standard library alone.
``system_calls`` lists the system calls of each kind of process. ``seccomp`` and ``landlock`` make the kernel enforce
the rules.
"""
