"""The wire contract between client and API server: messages, paths and limits, and images decoded within them.

The package imports nothing of either side and none of their frameworks. Both sides import its modules.
"""
