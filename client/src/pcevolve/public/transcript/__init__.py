"""The record of a run: everything that crossed the wire, and the names of all files in a run's folder.

``chain`` links the lines and names stored files by their digest. ``records`` defines the lines' content.
``log`` combines both. ``bodies`` stores the bodies of requests and answers. ``traffic`` pairs requests with
their outcomes. Only ``log.Transcript`` writes a run, and only ``reader.RunReader`` reads one.
"""
