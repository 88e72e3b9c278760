"""From assets to nodes: surveys, targets, the graph."""
