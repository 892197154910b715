"""The words of the field, each in a sentence or two."""

from __future__ import annotations

GLOSSARY: dict[str, str] = {
    "Attribution": "A number for every pixel of one image that says how much the pixel had to do with the model's "
                   "answer. Also called importance, saliency or explanation map.",
    "Background": "The noise a shape hides in. WHITE: every pixel by itself. CORR: smooth, so that neighbouring "
                  "pixels know of each other.",
    "Bandwidth": "How far a kernel reaches. A pattern protects against suppressors only as far as its neighbourhood "
                 "reaches.",
    "Baseline": "The image that stands for an absent feature, r in the formulas: here all zero, or the mean of the "
                "training images.",
    "Decision features": "OpenAPI's D_c: the exact weights of class c against the other classes in the linear "
                         "region of an image.",
    "Explained output": "The number whose causes are sought. The margin is the class's logit less the mean of the "
                        "others'; the probability saturates when the model is sure.",
    "False positive": "Importance given to a pixel that has nothing to do with the class. Suppressors are the "
                      "stubborn kind.",
    "Forward and backward model": "Backward: from the image to the answer (weights, what classifiers are). Forward: "
                                  "from the answer to the image (patterns, what the answer looks like).",
    "Ground truth": "The pixels known to matter, F⁺: those of the shapes. Union: all shapes of the scenario. Shown: "
                    "those in this image.",
    "Kernel": "A curve that says how a neighbour's weight falls with its distance; also the weights LIME and SHAP "
              "give their samples.",
    "Linear region": "The inputs for which the same units of a ReLU network are active. Inside it the network is "
                     "one linear function.",
    "Mask": "The ground truth of one image, as a picture of yes and no.",
    "Neighbourhood": "The training images near the one explained, with weights p that sum to 1. PatternLocal reads "
                     "covariances there.",
    "Oracle tuning": "Choosing a method's options with the ground truth in sight. It shows what a method could do, "
                     "not what a user would get.",
    "Pattern": "How the variables move when the answer moves: a = Cov(x) w / Var(wᵀx). A suppressor has no part in "
               "it.",
    "Piecewise linear": "Made of linear functions on regions that touch: what networks of ReLU and max pooling are.",
    "Shapley value": "A player's fair share of a game's outcome: the mean of what it adds over all orders of "
                     "arrival. SHAP takes features as players.",
    "Simplification": "Few features in place of many pixels, h in the formulas: superpixels, principal components, "
                      "or the pixels themselves.",
    "SNR": "Signal-to-noise ratio. Here the weight a of the shape in the mixture with the noise, between 0 and 1.",
    "Superpixel": "A patch of neighbouring pixels treated as one feature.",
    "Suppressor": "A variable that knows nothing of the answer, but helps a model by cancelling noise in another. "
                  "Best models use it.",
    "Surrogate": "A simple model, here linear, that stands in for the network near one image. Its weights are what "
                 "LIME reports.",
    "Undefined score": "A map that is zero everywhere has no mass to score. It is counted as undefined, never as "
                       "good or bad.",
    "Weight": "How much the answer changes when a variable changes and all others stay: w. It mixes finding the "
              "signal with cancelling noise.",
    "White box, black box": "White: the network's insides can be read. Black: only its answers can be asked for, as "
                            "OpenAPI, LIME and SHAP do.",
}
