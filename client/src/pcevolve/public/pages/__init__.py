"""Self-contained pages for people: the report, and everything that left.

One file each, escaped, with a strict policy and small re-encoded pictures; made from public records alone.
"""
