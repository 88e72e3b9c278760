"""Block compression: BC1 and BC7, each as a kernel with its reference."""
