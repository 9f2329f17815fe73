"""Black-box audit of a method's privacy: tries to tell two neighbouring datasets apart from what is released.

It simulates a method's real selector on points in a plane: no private data, no images, no sockets. It can refute a
claim of (ε, δ)-DP, and never prove one.
"""
