"""Black-box audit of a method's privacy: tries to tell two neighbouring datasets apart. No images, no sockets."""
