"""The name of a file's quantisation: ``general.file_type`` (enum llama_ftype, include/llama.h:117-162)."""

from __future__ import annotations

from app.model.types import ModelInfo

FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0",
    41: "Q2_0",
}  # fmt: skip


def quant_name(model: ModelInfo) -> str | None:
    """'Q4_K_M'; the type of most of the weights' bytes when the file does not say; None for a file without tensors."""
    told = model.metadata.get("general.file_type")
    if isinstance(told, int) and told in FILE_TYPES:
        return FILE_TYPES[told]
    n_bytes: dict[str, int] = {}
    for tensor in model.tensors:
        n_bytes[tensor.type_name] = n_bytes.get(tensor.type_name, 0) + tensor.n_bytes
    return max(n_bytes, key=lambda name: n_bytes[name]) if n_bytes else None
