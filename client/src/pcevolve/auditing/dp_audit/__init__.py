"""Black-box audit of a method's privacy: try to tell two neighbouring datasets apart by their releases.

The audit runs a method's real selector on points in a plane, without private data, images or sockets. It can refute
a claim of (ε, δ)-DP, but never prove one.
"""
