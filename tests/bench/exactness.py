"""Is an answer called exact ever wrong? ``python tests/bench/exactness.py [CASES [FIRST]]``, both samplings.

20,000 cases from number 0 unless told otherwise: some three minutes on two processors.

Prints, for each family of drawn models, how many answers were called exact and how many of those were wrong: more
than 1e-6 of the true weights' size away, or any at all of a smooth model.
"""

import collections
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "core")]
os.environ.setdefault("OMP_NUM_THREADS", "1")

import drawn  # noqa: E402

from core.methods.openapi import SAMPLINGS, decision_features  # noqa: E402
from core.processors import processors  # noqa: E402


def trial(number):
    case, rows = drawn.draw(number), []
    for sampling in SAMPLINGS:
        found = decision_features(case.predict, case.x, case.target, sampling=sampling, seed=number)
        error = case.wrong(found.weights) if found.exact else float("nan")
        rows.append(
            (
                number,
                sampling,
                case.family,
                case.detail,
                len(case.x),
                found.exact,
                found.reason.split(":")[0],
                error,
                found.error,
                found.queries,
            )
        )
    return rows


def main():
    count, first = (*map(int, sys.argv[1:]), *(20_000, 0)[len(sys.argv) - 1 :])
    tables = collections.defaultdict(list)
    with ProcessPoolExecutor(processors()) as pool:
        for done, rows in enumerate(pool.map(trial, range(first, first + count), chunksize=50), 1):
            for row in rows:
                tables[row[1:4]].append(row)
            if done % 1000 == 0:
                print(f"{done} of {count}", file=sys.stderr, flush=True)
    for (sampling, family, detail), rows in sorted(tables.items(), key=lambda item: str(item[0])):
        exact = [r for r in rows if r[5]]
        wrong = [r for r in exact if not r[7] <= 1e-6]
        over = [r for r in exact if not r[7] <= r[8]]
        reasons = collections.Counter(r[6] for r in rows if not r[5])
        print(
            f"{sampling:10} {family:8} {detail:10} n {len(rows):5}  exact {len(exact) / len(rows):6.1%}  "
            f"wrong {len(wrong)}  above its bound {len(over)}  "
            f"largest {max((r[7] for r in exact), default=0):.1e}  {dict(reasons)}"
        )
        for r in wrong[:5]:
            print("    wrong:", r)
    exact = [r for rows in tables.values() for r in rows if r[5]]
    print(f"{2 * count} answers, {len(exact)} called exact, {sum(not r[7] <= 1e-6 for r in exact)} wrong")


if __name__ == "__main__":
    main()
