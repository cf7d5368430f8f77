"""Which layers of a file have larger experts, where a case tells only their mean: llama-quantize's own rule.

``llama-quant.cpp`` (``use_more_bits``): for the ``_M`` mixes the down projections of the first and the last eighth of
the layers, and of every third one between, have a larger type. Files that somebody mixed by hand ("UD", "dynamic")
follow no rule that a name could tell.
"""

import re

_MIXES = {"Q4_K_M": (4.5, 6.5625), "Q5_K_M": (5.5, 6.5625)}
"""Bits per weight of gate, up and the usual down projections, and of the larger down projections."""
_SAME_MEAN = 0.015
"""The told mean is often one over a few layers."""


def uses_more_bits(layer: int, n_layers: int) -> bool:
    """llama-quant.cpp ``use_more_bits``."""
    eighth = n_layers // 8
    return layer < eighth or layer >= 7 * n_layers // 8 or (layer - eighth) % 3 == 2


def mixed_sizes(quant: str, n_layers: int, n_lead: int, n_elements: int, mean_bytes: float) -> tuple[float, ...] | None:
    """Bytes of each expert layer (after ``n_lead`` dense ones) of a file that ``quant`` names; None when the name is no
    plain mix or its sizes do not have the told mean. ``n_elements``: of one of the three expert tensors of a layer."""
    label = quant.upper()
    bits = next((b for name, b in _MIXES.items() if re.match(rf"{name}\b", label)), None)
    if bits is None or n_elements <= 0 or n_layers <= n_lead:
        return None
    usual, larger = bits
    sizes = [
        n_elements * (3 * usual + (larger - usual if uses_more_bits(layer, n_layers) else 0)) / 8
        for layer in range(n_lead, n_layers)
    ]
    mean = sum(sizes) / len(sizes)
    if not mean_bytes or abs(mean / mean_bytes - 1) > _SAME_MEAN:
        return None
    return tuple(sizes)
