"""Times the published package's local covariance: ``python published_patternlocal.py FOLDER`` with given.npz."""

import sys
import time

import numpy as np
from patternlocal.solvers.local_covariance import LocalCovarianceSolver

given = np.load(f"{sys.argv[1]}/given.npz")
solver = LocalCovarianceSolver({"k_ratio": 1.0, "use_projection": False})
taken = []
for _ in range(3):
    start = time.perf_counter()
    values = solver.solve(given["weights"], 0.0, given["center"], given["images"])
    taken.append(time.perf_counter() - start)
np.savez(f"{sys.argv[1]}/found.npz", seconds=np.median(taken[1:]), values=values)
