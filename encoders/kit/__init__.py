"""What every target shares: sources to arrays, arrays to bytes. Small modules, one idea each."""
