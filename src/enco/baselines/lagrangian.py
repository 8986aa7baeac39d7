"""The augmented Lagrangian of DCDI: minimise f subject to h = 0 by a sequence of problems without the constraint.

Each problem is min f + alpha h + mu/2 h^2. When it is about solved, alpha grows by mu h, and mu grows too unless h has
shrunk enough. The constraint is the one of NOTEARS: for a matrix A >= 0, h(A) = trace(exp(A)) - N counts weighted
closed walks, so it is 0 exactly if the graph of A has no cycle.
"""

from dataclasses import dataclass, field

__all__ = ["Lagrangian"]

ENOUGH = 0.9  # mu stays if h has shrunk to this share of what it was
GROWTH = 10.0  # of mu otherwise


@dataclass
class Lagrangian:
    """alpha and mu, and when to change them.

    Attributes
    ----------
    mu : float
        mu_0 in the beginning.
    tolerance : float
        A problem is solved once its objective falls by less than this from one look to the next.
    alpha : float

    Examples
    --------
    >>> lagrangian = Lagrangian(mu=0.5, tolerance=1e-4)
    >>> lagrangian.look(loss=1.0, h=2.0), lagrangian.look(loss=1.0, h=2.0)
    (False, True)
    >>> lagrangian.alpha, lagrangian.mu
    (1.0, 5.0)
    """

    mu: float
    tolerance: float
    alpha: float = 0.0
    _last_objective: float = field(default=float("inf"), init=False)
    _last_h: float = field(default=0.0, init=False)

    def slope(self, h: float) -> float:
        """Return the derivative of the constraint terms by h: alpha + mu h."""
        return self.alpha + self.mu * h

    def look(self, loss: float, h: float) -> bool:
        """Note where the current problem stands; if it is solved, go on to the next one and return True."""
        objective = loss + self.alpha * h + 0.5 * self.mu * h * h
        solved = self._last_objective - objective < self.tolerance
        if not solved:
            self._last_objective = objective
            return False
        self.alpha += self.mu * h
        if h > ENOUGH * self._last_h:
            self.mu *= GROWTH
        self._last_h = h
        self._last_objective = float("inf")
        return True
