"""The bytes that a glTF refers to: buffers, accessors, compressed views, images."""
