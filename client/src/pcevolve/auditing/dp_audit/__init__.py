"""Black-box audit of a method's privacy: try to tell two neighbouring datasets apart from the releases.

It simulates a method's real selector on points in a plane: no private data, images or sockets. It can refute
a claim of (ε, δ)-DP, and never prove one.
"""
