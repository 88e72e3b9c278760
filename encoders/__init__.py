"""Targets and their encoders: pure functions from named bytes to named bytes.

Every module or folder here, but for `kit`, is a target, found by its name. Nothing in this
package opens a file, reads the clock, the environment or the network.
"""
