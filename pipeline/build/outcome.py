"""What can become of a node in a run."""

BUILT = "built"
RESTORED = "restored"
UNCHANGED = "unchanged"
FAILED = "failed"
STARVED = "starved"  # nobody has its inputs any more; they are made again, and it gets another turn
