"""A shared cache in a bucket of an object store; imported only where an address names one."""
