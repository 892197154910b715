"""Exact optimal transport between pixels: coarse to fine, on a few arcs at a time, proved optimal by its dual.

A transport problem between thousands of pixels has millions of arcs; an optimal plan uses a few thousand.
The same problem on pooled pixels gives dual potentials good to a fraction of a pixel. An even selection of the
arcs with small reduced cost goes to POT's sparse network simplex, whose potentials then price all arcs; arcs with
negative reduced cost are added until none is left (column generation). Weak duality says when to stop: once a plan
costs no more than the bound its own potentials prove, no plan on any arcs can be cheaper.

Throughout, n sources send mass to m targets. Positions are rows and columns of pixels, masses are shares of the
total, and costs and potentials are distances in pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from core import memory
from core.types import NotApplicable

DENSE_ARCS = 40_000  # arcs that POT's dense solver takes in milliseconds
NEAR_COST = 1.0  # pixels of reduced cost up to which an arc is a candidate at first
SPREAD_ARCS = 8  # further candidates of a pixel, taken evenly from all that are near
DETOUR = 4.0  # pixels between any pixel and the hub, at first
EXACT_GAP = 1e-11  # share of the bound by which a plan may miss it; rounding leaves 1e-13
COARSE_GAP = 1e-3  # the same for pooled pixels, whose plan is only a starting point
ROUNDING = 1e-12  # reduced cost, in pixels, that may be rounding
DUST = 1e-14  # share of the mass that rounding may leave without an arc
MAX_ROUNDS = 60  # of pricing; usually 2 to 8
MAX_ITERATIONS = 10_000_000  # of one network simplex; POT's own limit of 100,000 is too low
ARCS_PRICED = 1 << 16  # arcs priced at once
BYTES_PER_PIXEL = 8_000  # upper bound for a source or target (measured: 4,400 at 64 x 64, 5,700 at 128 and 192)


@dataclass(frozen=True)
class Plan:
    """A transport plan as k arcs, and its dual.

    Arc a carries the mass ``flow[a]`` from source number ``source[a]`` to target number ``sink[a]``, all ``(k,)``.
    ``u (n,)`` and ``v (m,)`` are potentials in pixels with ``u_i + v_j <= distance_ij`` on all arcs.
    """

    source: np.ndarray
    sink: np.ndarray
    flow: np.ndarray
    u: np.ndarray
    v: np.ndarray


def plan(
    sources: np.ndarray, source_mass: np.ndarray, targets: np.ndarray, target_mass: np.ndarray, gap: float = EXACT_GAP
) -> Plan:
    """The cheapest plan that moves the masses of ``sources`` to ``targets``: ``min sum flow_a distance_a``.

    ``sources (n,2)`` and ``targets (m,2)`` are rows and columns of pixels; ``source_mass (n,)`` and ``target_mass
    (m,)`` are positive and each sum to 1; the distance is Euclidean, in pixels. The plan costs at most a share
    ``gap`` more than the bound that its potentials prove. NotApplicable when there is no such proof (an unfinished
    plan is not the distance) or the problem would not fit into memory. Solver: POT's network simplex (Bonneel et
    al. 2011).
    """
    if len(sources) * len(targets) <= DENSE_ARCS:
        return _dense(sources, source_mass, targets, target_mass)
    _must_fit(len(sources) + len(targets))
    v, arcs = _from_coarse(sources, source_mass, targets, target_mass)
    u, more = _near(sources, targets, v)
    detour = DETOUR
    for _ in range(MAX_ROUNDS):
        arcs = np.concatenate([arcs, more], axis=1)
        cost = distance(sources[arcs[0]], targets[arcs[1]]) - u[arcs[0]] - v[arcs[1]]
        restricted, detours = _sparse(source_mass, target_mass, arcs, cost, detour)
        u, v = u + restricted.u, v + restricted.v
        allowed, more = _too_cheap(sources, targets, u, v)
        bound = source_mass @ allowed + target_mass @ v
        if detours:
            detour *= 4
            continue
        pixels = distance(sources[restricted.source], targets[restricted.sink])
        if restricted.flow @ pixels - bound <= gap * bound:
            return replace(restricted, u=allowed, v=v)
    raise NotApplicable(f"not converged (no proof after {MAX_ROUNDS} rounds)")


def _must_fit(pixels: int) -> None:
    """NotApplicable when a transport between so many pixels would take more memory than there is."""
    free = memory.available()
    if pixels * BYTES_PER_PIXEL > free:
        needed = pixels * BYTES_PER_PIXEL
        raise NotApplicable(
            f"Transport between {pixels:,} pixels would take about {needed / 1e6:,.0f} MB; "
            f"{free / 1e6:,.0f} MB may be used, enough for {int(free / BYTES_PER_PIXEL):,} pixels. "
            "Score a smaller image, or one averaged over blocks of pixels."
        )


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Euclidean distances in pixels ``(...)`` between positions ``a`` and ``b (...,2)``, broadcast."""
    return np.sqrt((a[..., 0] - b[..., 0]) ** 2 + (a[..., 1] - b[..., 1]) ** 2)


def _dense(sources: np.ndarray, source_mass: np.ndarray, targets: np.ndarray, target_mass: np.ndarray) -> Plan:
    """The plan by POT's dense network simplex."""
    flow, log = _emd(source_mass, target_mass, distance(sources[:, None], targets[None]))
    source, sink = np.nonzero(flow)
    return Plan(source, sink, flow[source, sink], log["u"], log["v"])


def _sparse(
    source_mass: np.ndarray, target_mass: np.ndarray, arcs: np.ndarray, cost: np.ndarray, detour: float
) -> tuple[Plan, bool]:
    """The best plan over ``arcs (2,k)`` of ``cost (k,)`` and a hub that every pixel reaches for ``detour`` pixels.

    Also whether the plan uses the hub. The hub connects pixels that no chain of arcs connects: without it their
    potentials could not be compared.
    """
    n, m = len(source_mass), len(target_mass)
    rows = np.concatenate([arcs[0], np.arange(n), np.full(m + 1, n)])
    columns = np.concatenate([arcs[1], np.full(n, m), np.arange(m + 1)])
    costs = np.concatenate([cost, np.full(n + m, detour), [0.0]])
    flow, log = _emd(
        np.append(source_mass, 1.0),
        np.append(target_mass, 1.0),
        coo_array((costs, (rows, columns)), shape=(n + 1, m + 1)),
    )
    direct = (flow.row < n) & (flow.col < m) & (flow.data > 0)
    detours = flow.data[(flow.row < n) & (flow.col == m)].sum() > DUST
    return Plan(flow.row[direct], flow.col[direct], flow.data[direct], log["u"][:n], log["v"][:m]), detours


def _emd(source_mass: np.ndarray, target_mass: np.ndarray, cost: np.ndarray | coo_array):
    import ot  # late: it is slow to import and only this needs it

    flow, log = ot.emd(source_mass, target_mass, cost, numItermax=MAX_ITERATIONS, log=True, center_dual=False)
    if log["warning"] is not None:
        raise NotApplicable(f"not converged ({log['warning']})")
    return flow, log


def _near(sources: np.ndarray, targets: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest ``u (n,)`` that ``v (m,)`` allows, and candidate arcs ``(2,k)`` of small reduced cost under both.

    For each source the cheapest few of its near arcs, and SPREAD_ARCS more taken evenly: the very cheapest all point
    in almost one direction, so an optimum on them alone would hardly constrain the other potentials.
    """
    u, arcs = np.empty(len(sources)), []
    for rows, cost in _reduced(sources, targets, v):
        lowest = u[rows] = cost.min(axis=1)
        near = np.flatnonzero(cost < (lowest + NEAR_COST)[:, None])
        i, j = np.divmod(near, len(targets))
        count = np.bincount(i)
        chosen = cost.ravel()[near] <= (lowest + 2 * NEAR_COST / count)[i]
        chosen |= np.arange(len(i)) % np.maximum(count // SPREAD_ARCS, 1)[i] == 0
        arcs.append([i[chosen] + rows.start, j[chosen]])
    return u, np.concatenate(arcs, axis=1)


def _too_cheap(
    sources: np.ndarray, targets: np.ndarray, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The largest u ``(n,)`` that v allows, and the arcs ``(2,k)`` on which u + v exceeds the distance."""
    allowed, arcs = np.empty(len(sources)), [np.empty((2, 0), np.intp)]
    for rows, cost in _reduced(sources, targets, v):
        lowest = allowed[rows] = cost.min(axis=1)
        limit = u[rows] - ROUNDING
        if (lowest < limit).any():
            i, j = np.nonzero(cost < limit[:, None])
            arcs.append([i + rows.start, j])
    return allowed, np.concatenate(arcs, axis=1)


def _reduced(sources: np.ndarray, targets: np.ndarray, v: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """``distance - v`` of all arcs in pixels, for some sources at a time: their slice, and costs ``(k,m)``."""
    sources, targets = sources.astype(np.float64), targets.astype(np.float64)
    step = max(1, ARCS_PRICED // len(targets))
    for first in range(0, len(sources), step):
        rows = slice(first, min(first + step, len(sources)))
        cost = distance(sources[rows, None], targets[None])
        cost -= v
        yield rows, cost


def _from_coarse(
    sources: np.ndarray, source_mass: np.ndarray, targets: np.ndarray, target_mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Potentials ``v (m,)`` from the problem on cells of 2 x 2 pixels, and arcs ``(2,k)`` on which a plan exists.

    These arcs join all pixels of a cell, and all pixels of two cells between which the coarse plan carries mass.
    """
    shape = tuple(np.maximum(sources.max(0), targets.max(0)) // 2 + 1)
    cells, count = np.argwhere(np.ones(shape, bool)), int(np.prod(shape))
    cell_of_source, cell_of_target = (
        np.ravel_multi_index(tuple((pixels // 2).T), shape) for pixels in (sources, targets)
    )
    surplus = np.bincount(cell_of_source, source_mass, count) - np.bincount(cell_of_target, target_mass, count)
    sending, receiving = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    joined, v = eye_array(count, format="csr"), np.zeros(len(targets))
    if len(sending) and len(receiving):
        coarse = plan(
            cells[sending],
            surplus[sending] / surplus[sending].sum(),
            cells[receiving],
            surplus[receiving] / surplus[receiving].sum(),
            COARSE_GAP,
        )
        prices = _reduced((targets - 0.5) / 2, cells[sending], coarse.u)
        v = 2 * np.concatenate([cost.min(axis=1) for _, cost in prices])  # a cell is two pixels wide
        joined += _incidence(sending[coarse.source], receiving[coarse.sink], (count, count))
    inside = [_incidence(np.arange(len(cell)), cell, (len(cell), count)) for cell in (cell_of_source, cell_of_target)]
    return v, np.array((inside[0] @ joined @ inside[1].T).nonzero())


def _incidence(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """A sparse matrix with a one at each pair of row and column."""
    return csr_array((np.ones(len(rows)), (rows, columns)), shape)
