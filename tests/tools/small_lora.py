"""A LoRA adapter for some tensors of a model, the data as holes: as ``convert_lora_to_gguf.py`` writes them."""

from app.model.gguf_writer import GgufWriter, ValueType


def write_lora(path, model, names, *, rank=8, architecture=None):
    """Pairs for the named tensors of a model."""
    writer = GgufWriter()
    writer.add("general.type", ValueType.STRING, "adapter")
    writer.add("general.architecture", ValueType.STRING, architecture or model.architecture)
    writer.add("adapter.type", ValueType.STRING, "lora")
    writer.add("adapter.lora.alpha", ValueType.F32, 16.0)
    shapes = {tensor.name: tensor.shape for tensor in model.tensors}
    for name in names:
        rows, columns = shapes.get(name, (256, 256))[:2]
        writer.add_tensor(f"{name}.lora_a", (rows, rank), "F32")
        writer.add_tensor(f"{name}.lora_b", (rank, columns), "F32")
    writer.write(path)
    return path
