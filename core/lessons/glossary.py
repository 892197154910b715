"""The terms of the field, each in a sentence or two."""

from __future__ import annotations

GLOSSARY: dict[str, str] = {
    "Attribution": "A number for every pixel of one image that says how important the pixel was for the model's "
    "answer. Also called importance, saliency or explanation map.",
    "Background": "The noise that hides a shape. WHITE: every pixel is independent. CORR: smooth noise, in which "
    "neighbouring pixels are correlated.",
    "Bandwidth": "The width of a kernel. A pattern removes suppressors only if its neighbourhood is wide enough.",
    "Baseline": "The image that stands for an absent feature, r in the formulas: all zeros, or the mean of the "
    "training images.",
    "Decision features": "OpenAPI's D_c: the exact weights of class c against the other classes in the linear "
    "region of an image.",
    "Explained output": "The number that is explained. The margin is the class's logit minus the mean of the "
    "others'; the probability saturates when the model is confident.",
    "False positive": "Importance given to a pixel that has nothing to do with the class. Suppressors are a "
    "systematic source of them.",
    "Forward and backward model": "A backward model goes from the image to the answer: weights, as in a classifier. "
    "A forward model goes from the answer to the image: patterns, which show how the "
    "answer is expressed in the image.",
    "Ground truth": "The pixels known to matter, F⁺: those of the shapes. Union: all shapes of the scenario. Shown: "
    "only those in this image.",
    "Kernel": "A function that gives a neighbour's weight by its distance; also the weights that LIME and SHAP give "
    "to their samples.",
    "Linear region": "The inputs for which the same units of a ReLU network are active. On such a region the "
    "network is one linear function.",
    "Mask": "The ground truth of one image: the set of important pixels.",
    "Neighbourhood": "The training images near the explained one, with weights p that sum to 1. PatternLocal "
    "computes covariances in it.",
    "Oracle tuning": "Choosing a method's options by the ground truth. It shows what a method can achieve at best, "
    "not what a user would get.",
    "Pattern": "How the variables change with the answer: a = Cov(x) w / Var(wᵀx). The entry of a suppressor is "
    "zero.",
    "Piecewise linear": "Made of linear functions on adjoining regions, like networks with ReLU and max pooling.",
    "Shapley value": "A player's fair share of a game's outcome: its contribution averaged over all orders in which "
    "the players can join. SHAP treats features as players.",
    "Simplification": "Few features instead of many pixels, h in the formulas: superpixels, principal components, "
    "or the pixels themselves.",
    "SNR": "Signal-to-noise ratio. Here the weight a, between 0 and 1, of the shape in its mixture with the noise.",
    "Superpixel": "A patch of neighbouring pixels that is treated as one feature.",
    "Suppressor": "A variable that carries no information about the answer but helps a model by cancelling the "
    "noise in another variable. The best models use it.",
    "Surrogate": "A simple model, here a linear one, that approximates the network near one image. LIME reports its "
    "weights.",
    "Undefined score": "A map that is zero everywhere cannot be scored. It is counted as undefined, neither as good "
    "nor as bad.",
    "Weight": "How much the answer changes when one variable changes and all others stay fixed: w. It mixes "
    "detecting the signal with cancelling noise.",
    "White box, black box": "A white box can be inspected from inside. A black box can only be queried for its "
    "answers, as OpenAPI, LIME and SHAP do.",
}
