"""EMD and IME of every method with default options over correctly classified test images, as a Markdown table.

    python tests/bench/compare_methods.py --scenario XOR --snr 0.05 --images 50

One table a background; both scores are means over the images, and n says how many of them had a score.
"""

import argparse
import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from core import METHODS, NotApplicable, Spec, explain, model_library, pipeline, score  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--scenario", default="XOR")
parser.add_argument("--backgrounds", default="WHITE,CORR")
parser.add_argument("--snr", default=0.05, type=float)
parser.add_argument("--images", default=50, type=int)
parser.add_argument("--methods", default=",".join(METHODS))
given = parser.parse_args()


def scores(specs):
    """The scores of one method's maps; an image to which it does not apply has none."""
    found = []
    for spec in specs:
        with contextlib.suppress(NotApplicable):
            found.append(score(explain(spec)))
    return found


for background in given.backgrounds.split(","):
    base = Spec(scenario=given.scenario, background=background, snr=given.snr)
    images = pipeline.choose(base, correct=True)[: given.images]
    methods = given.methods.split(",")
    for method in methods:  # the maps first: they use all cores themselves
        for image in images:
            with contextlib.suppress(NotApplicable):
                explain(base.replace(method=method, image=image))
    with ThreadPoolExecutor(2) as pool:  # POT lets go of Python while it solves
        found = dict(
            zip(
                methods,
                pool.map(scores, [[base.replace(method=m, image=i) for i in images] for m in methods]),
                strict=True,
            )
        )
    record = model_library.model_record(base)
    print(
        f"\n{given.scenario} {background}, 64x64, SNR {given.snr:g}, MLP (test accuracy {record.accuracy:.1%}), "
        f"{len(images)} images\n\n| method | EMD | IME | n |\n|---|---|---|---|"
    )
    for method in sorted(found, key=lambda m: pipeline.summary(found[m], "emd")["mean"]):
        emd, ime = (pipeline.summary(found[method], name) for name in ("emd", "ime"))
        print(
            f"| {METHODS[method].label} | {emd['mean']:.3f} ± {emd['std']:.3f} | {ime['mean']:.3f} ± "
            f"{ime['std']:.3f} | {emd['n']} |",
            flush=True,
        )
