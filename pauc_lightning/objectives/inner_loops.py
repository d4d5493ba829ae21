"""The position in AGD-SBCD's inner loops: read by the loss, advanced and saved by the optimizer."""

from __future__ import annotations

from pauc_lightning.arguments import check_integer


class InnerLoops:
    """Iteration t of the k-th inner loop, which has T_k = T₀ (k + 1)² iterations; one batch is one iteration.

    Args:
        first_loop: T₀, the number of iterations of the first loop.

    Example:
        >>> loops = InnerLoops(first_loop=2)
        >>> [(loops.k, loops.t, loops.length, loops.advance()) for _ in range(3)]
        [(0, 0, 2, None), (0, 1, 2, None), (1, 0, 8, None)]
    """

    def __init__(self, first_loop: int) -> None:
        check_integer("first_loop", first_loop, at_least=1, hint="it is a number of batches")
        self.first_loop = first_loop
        self.k = 0
        self.t = 0

    @property
    def length(self) -> int:
        """T_k of the current loop."""
        return self.first_loop * (self.k + 1) ** 2

    @property
    def is_last(self) -> bool:
        """Whether the loop ends with this iteration."""
        return self.t == self.length - 1

    def advance(self) -> None:
        """Go to the next iteration, and after a loop's last iteration to the next loop."""
        self.k, self.t = (self.k + 1, 0) if self.is_last else (self.k, self.t + 1)
