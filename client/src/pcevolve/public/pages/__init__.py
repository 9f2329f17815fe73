"""Self-contained pages for people: the report, the pages about a run in progress, and everything that was sent.

Each page is one file made from public records alone. Its strings are escaped, its content security policy is
strict, and its pictures are small and encoded again.
"""
