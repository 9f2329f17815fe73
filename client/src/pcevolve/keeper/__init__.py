"""The door of the private side: its messages, and the clock by which its answers leave.

``protocol`` has the messages that a keeper and a runner exchange, ``padding`` lets answers leave at whole ticks.
Neither knows files, sockets or private types.
"""
