"""Images: decoding of received bytes and private files, appearance in six numbers, position of the subject.

Every function for pixels takes one image, or the bytes of one. No function uses statistics of other images.
"""
