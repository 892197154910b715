"""Exact optimal transport between pixels: coarse to fine, few arcs at a time, proved by the dual.

A transport problem between thousands of pixels has millions of arcs; an optimal plan uses a few thousand.
The same problem on pooled pixels gives dual potentials good to a fraction of a pixel. An even selection of the
arcs of small reduced cost under them goes to POT's sparse network simplex, whose potentials then price all
arcs; those that turn out too cheap are added until none is left. Weak duality says when to stop: once a plan
costs no more than the bound its own potentials prove, no other plan, on whatever arcs, can be cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from core import memory
from core.types import NotApplicable

SMALL = 40_000  # arcs that POT's dense solver takes in milliseconds
NEAR = 1.0  # pixels of reduced cost up to which an arc is a candidate at first
SPREAD = 8  # candidates of a pixel taken evenly from all that are near
DETOUR = 4.0  # pixels between any pixel and the hub, at first
EXACT, ROUGH = 1e-11, 1e-3  # of the bound, by which a plan may miss it: rounding leaves 1e-13; coarse plans only hint
ROUNDING = 1e-12  # pixels of a reduced cost that may be rounding
DUST = 1e-14  # of the mass, which rounding may leave without an arc
ROUNDS = 60  # of pricing; 2 to 8 are usual
STEPS = 10_000_000  # of one network simplex; POT's own limit of 100,000 is too low
BLOCK = 1 << 16  # arcs priced at once
BYTES = 8_000  # taken at most for a pixel that gives or takes (measured: 4,400 at 64 x 64, 5,700 at 128 and 192)


@dataclass(frozen=True)
class Plan:
    """Flow from ``give[source]`` to ``take[sink]``; potentials ``u``, ``v`` with ``u_i + v_j <= distance``."""

    source: np.ndarray
    sink: np.ndarray
    flow: np.ndarray
    u: np.ndarray
    v: np.ndarray


def plan(give: np.ndarray, much: np.ndarray, take: np.ndarray, little: np.ndarray, gap: float = EXACT) -> Plan:
    """The cheapest plan that carries ``much (n,)`` at pixels ``give (n,2)`` to ``little (m,)`` at ``take (m,2)``.

    Both masses sum to 1; the cost is mass times Euclidean distance in pixels. The plan's cost is at most
    ``gap`` above the bound its potentials prove, relatively. NotApplicable when no plan gets there: an
    unfinished one is not the distance, and when the problem would not fit into memory.
    """
    if len(give) * len(take) <= SMALL:
        return _dense(give, much, take, little)
    _must_fit(len(give) + len(take))
    v, arcs = _from_coarse(give, much, take, little)
    u, more = _near(give, take, v)
    detour = DETOUR
    for _ in range(ROUNDS):
        arcs = np.concatenate([arcs, more], axis=1)
        cost = distance(give[arcs[0]], take[arcs[1]]) - u[arcs[0]] - v[arcs[1]]
        found, detours = _sparse(much, little, arcs, cost, detour)
        u, v = u + found.u, v + found.v
        low, more = _too_cheap(give, take, u, v)
        bound = much @ low + little @ v
        if detours:
            detour *= 4
        elif found.flow @ distance(give[found.source], take[found.sink]) - bound <= gap * bound:
            return Plan(found.source, found.sink, found.flow, low, v)
    raise NotApplicable(f"not converged (no proof after {ROUNDS} rounds)")


def _must_fit(pixels: int) -> None:
    """NotApplicable when a transport between so many pixels would take more memory than there is."""
    free = memory.available()
    if pixels * BYTES > free:
        raise NotApplicable(f"Transport between {pixels:,} pixels would take about {pixels * BYTES / 1e6:,.0f} MB; "
                         f"{free / 1e6:,.0f} MB may be used, which would do for {int(free / BYTES):,} pixels. "
                         "Score a smaller image, or one averaged over blocks of pixels.")


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Euclidean distances between pixels ``a`` and ``b (...,2)``, broadcast."""
    return np.sqrt((a[..., 0] - b[..., 0]) ** 2 + (a[..., 1] - b[..., 1]) ** 2)


def _dense(give: np.ndarray, much: np.ndarray, take: np.ndarray, little: np.ndarray) -> Plan:
    """The plan by POT's dense network simplex."""
    flow, log = _emd(much, little, distance(give[:, None], take[None]))
    source, sink = np.nonzero(flow)
    return Plan(source, sink, flow[source, sink], log["u"], log["v"])


def _sparse(much: np.ndarray, little: np.ndarray, arcs: np.ndarray, cost: np.ndarray,
            detour: float) -> tuple[Plan, bool]:
    """The best plan over these arcs and a hub every pixel can reach for ``detour``; whether it uses the hub.

    The hub ties together pixels that no chain of arcs joins, whose potentials would mean nothing to one another.
    """
    n, m = len(much), len(little)
    rows = np.concatenate([arcs[0], np.arange(n), np.full(m + 1, n)])
    columns = np.concatenate([arcs[1], np.full(n, m), np.arange(m + 1)])
    costs = np.concatenate([cost, np.full(n + m, detour), [0.0]])
    flow, log = _emd(np.append(much, 1.0), np.append(little, 1.0),
                     coo_array((costs, (rows, columns)), shape=(n + 1, m + 1)))
    real = (flow.row < n) & (flow.col < m) & (flow.data > 0)
    detours = flow.data[(flow.row < n) & (flow.col == m)].sum() > DUST
    return Plan(flow.row[real], flow.col[real], flow.data[real], log["u"][:n], log["v"][:m]), detours


def _emd(much: np.ndarray, little: np.ndarray, cost: np.ndarray | coo_array):
    import ot  # late: it is slow to import and only this needs it

    flow, log = ot.emd(much, little, cost, numItermax=STEPS, log=True, center_dual=False)
    if log["warning"] is not None:
        raise NotApplicable(f"not converged ({log['warning']})")
    return flow, log


def _near(give: np.ndarray, take: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest ``u (n,)`` that v allows, and candidate arcs ``(2,k)`` of small reduced cost under both.

    Of each pixel's near arcs the cheapest few and SPREAD more, evenly: those of the very lowest cost alone
    lie along one line of sight, and an optimum on them says little about the others.
    """
    u, arcs = np.empty(len(give)), []
    for rows, cost in _reduced(give, take, v):
        low = u[rows] = cost.min(axis=1)
        place = np.flatnonzero(cost < (low + NEAR)[:, None])
        i, j = np.divmod(place, len(take))
        count = np.bincount(i)
        keep = cost.ravel()[place] <= (low + 2 * NEAR / count)[i]
        keep |= np.arange(len(i)) % np.maximum(count // SPREAD, 1)[i] == 0
        arcs.append([i[keep] + rows.start, j[keep]])
    return u, np.concatenate(arcs, axis=1)


def _too_cheap(give: np.ndarray, take: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest potentials ``(n,)`` that v allows, and the arcs ``(2,k)`` that keep u from being allowed."""
    allowed, arcs = np.empty(len(give)), [np.empty((2, 0), np.intp)]
    for rows, cost in _reduced(give, take, v):
        low = allowed[rows] = cost.min(axis=1)
        limit = u[rows] - ROUNDING
        if (low < limit).any():
            i, j = np.nonzero(cost < limit[:, None])
            arcs.append([i + rows.start, j])
    return allowed, np.concatenate(arcs, axis=1)


def _reduced(give: np.ndarray, take: np.ndarray, v: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """``distance - v`` of all arcs, some pixels of ``give`` at a time."""
    give, take = give.astype(np.float64), take.astype(np.float64)
    step = max(1, BLOCK // len(take))
    for first in range(0, len(give), step):
        rows = slice(first, min(first + step, len(give)))
        cost = distance(give[rows, None], take[None])
        cost -= v
        yield rows, cost


def _from_coarse(give: np.ndarray, much: np.ndarray, take: np.ndarray,
                 little: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Potentials ``v (m,)`` from the same problem on cells of 2 x 2 pixels, and arcs on which a plan exists.

    Those arcs join all pixels of one cell, and all pixels of two cells between which the coarse plan flows.
    """
    shape = tuple(np.maximum(give.max(0), take.max(0)) // 2 + 1)
    cells, count = np.argwhere(np.ones(shape, bool)), int(np.prod(shape))
    of_give, of_take = (np.ravel_multi_index(tuple((pixels // 2).T), shape) for pixels in (give, take))
    surplus = np.bincount(of_give, much, count) - np.bincount(of_take, little, count)
    givers, takers = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    joined, v = eye_array(count, format="csr"), np.zeros(len(take))
    if len(givers) and len(takers):
        coarse = plan(cells[givers], surplus[givers] / surplus[givers].sum(),
                      cells[takers], surplus[takers] / surplus[takers].sum(), ROUGH)
        v = 2 * np.concatenate([cost.min(axis=1) for _, cost in _reduced((take - 0.5) / 2, cells[givers], coarse.u)])
        joined += csr_array((np.ones(len(coarse.flow)), (givers[coarse.source], takers[coarse.sink])), (count, count))
    inside = [csr_array((np.ones(len(of)), (np.arange(len(of)), of)), (len(of), count)) for of in (of_give, of_take)]
    return v, np.array((inside[0] @ joined @ inside[1].T).nonzero())
