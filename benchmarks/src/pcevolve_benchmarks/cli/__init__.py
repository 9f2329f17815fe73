"""The command ``pcevolve-bench``: reads options, calls, prints. Each command has a module of its own.

Nobody imports it. What a command needs is imported when it is used, so that help comes at once.
"""
