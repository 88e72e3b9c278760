"""Cover the triangles of one patch with few strips: the search behind the strip writer.

A strip crosses a triangle from one edge to another, so a triangle has three ways to be crossed
and two directions: six states, numbered `6 * triangle + 2 * uncrossed_edge + direction`. From
a state the next one follows by itself. The one rule: state numbers decide every tie.
"""

from __future__ import annotations

# Branches that the search looks at for one patch; the first descent alone gives a cover, since a
# patch has fewer triangles than this.
BUDGET = 256

Strip = list[int]


def cover_patch(corners: list[list[int]], longest: int) -> list[Strip]:
    """Return strips of at most `longest` states that cover every triangle once."""
    search = _Search(corners, longest)
    search.descend((1 << len(corners)) - 1)
    return search.best


def state_window(corners: list[list[int]], state: int) -> tuple[int, int, int]:
    """Return the three vertices of a state, in the order in which its strip pushes them."""
    triangle, edge = corners[state // 6], state % 6 // 2
    first, second, third = triangle[(edge + 1) % 3], triangle[(edge + 2) % 3], triangle[edge]
    return (third, second, first) if state % 2 else (first, second, third)


class _Search:
    """Depth first: the loneliest triangle goes into each strip through it, longest first."""

    def __init__(self, corners: list[list[int]], longest: int) -> None:
        partner = _partners(corners)
        self.follow = [_next_state(corners, partner, state) for state in range(6 * len(corners))]
        self.beside = [0] * len(corners)
        for edge, other in enumerate(partner):
            if other >= 0:
                self.beside[edge // 3] |= 1 << other // 3
        self.longest = longest
        self.strips: list[Strip] = []
        self.best: list[Strip] = []
        self.branches = 0

    def descend(self, remaining: int) -> None:
        """Cover what remains; keep the strips where there are fewer than in the best cover."""
        if not remaining:
            self.best = list(self.strips)
            return
        if self.best and (len(self.strips) + 1 >= len(self.best) or self.branches >= BUDGET):
            return
        self.branches += 1
        state = 6 * self._loneliest(remaining)
        runs = {mask: run for run, mask in (self._run(state + k, remaining) for k in (4, 2, 0))}
        for mask, run in sorted(runs.items(), key=lambda item: (-len(item[1]), item[1])):
            self.strips.append(run)
            self.descend(remaining & ~mask)
            self.strips.pop()

    def _loneliest(self, remaining: int) -> int:
        """Return the first triangle with the fewest remaining neighbours."""
        best, fewest, rest = 0, 4, remaining
        while rest and fewest:
            low = rest & -rest
            rest ^= low
            count = (self.beside[low.bit_length() - 1] & remaining).bit_count()
            if count < fewest:
                best, fewest = low.bit_length() - 1, count
        return best

    def _run(self, state: int, remaining: int) -> tuple[Strip, int]:
        """Return the longest strip through a state among what remains, and its triangles."""
        free = remaining & ~(1 << state // 6)
        behind: Strip = []
        free = self._walk(state ^ 1, free, self.longest - 1, behind)
        run = [back ^ 1 for back in reversed(behind)] + [state]
        free = self._walk(state, free, self.longest - len(run), run)
        return run, remaining & ~free

    def _walk(self, state: int, free: int, steps: int, run: Strip) -> int:
        """Add the states that follow to the run; return the triangles that are still free."""
        follow = self.follow
        for _ in range(steps):
            state = follow[state]
            if state < 0 or not free >> state // 6 & 1:
                break
            free ^= 1 << state // 6
            run.append(state)
        return free


def _partners(corners: list[list[int]]) -> list[int]:
    """Pair the edges `3 * triangle + edge` that join the same vertices, two by two in order."""
    partner = [-1] * (3 * len(corners))
    alone: dict[tuple[int, int], int] = {}
    for triangle, (a, b, c) in enumerate(corners):
        for edge, ends in enumerate(((a, b), (b, c), (c, a))):
            other = alone.pop(ends if ends[0] < ends[1] else ends[::-1], -1)
            here = 3 * triangle + edge
            if other < 0:
                alone[ends if ends[0] < ends[1] else ends[::-1]] = here
            else:
                partner[here], partner[other] = other, here
    return partner


def _next_state(corners: list[list[int]], partner: list[int], state: int) -> int:
    """Return the state in which a strip enters the next triangle, or -1 at a border."""
    triangle, uncrossed, direction = state // 6, state % 6 // 2, state % 2
    exit_edge = (uncrossed + 2 - direction) % 3
    newest = corners[triangle][(uncrossed + direction) % 3]
    other = partner[3 * triangle + exit_edge]
    if other < 0:
        return -1
    entered, edge = divmod(other, 3)
    if corners[entered][(edge + 1) % 3] == newest:
        return 6 * entered + 2 * ((edge + 2) % 3)
    return 6 * entered + 2 * ((edge + 1) % 3) + 1
