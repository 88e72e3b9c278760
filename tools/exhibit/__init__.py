"""Pictures of what was built, one module a target, each through the target's own readers."""
