"""Texts of reading GGUF files. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "problem.file_missing": (
        "There is no file {path}. Check the path, or choose the model again.",
        "找不到文件 {path}。请检查路径，或重新选择模型。",
    ),
    "problem.file_is_folder": (
        "{path} is a folder. Choose the .gguf file inside it.",
        "{path} 是文件夹，请选择其中的 .gguf 文件。",
    ),
    "problem.file_unreadable": (
        "{path} cannot be read. Check its permissions and that its drive is connected.",
        "无法读取 {path}。请检查访问权限，并确认所在磁盘已连接。",
    ),
    "problem.not_gguf": (
        "{path} is not a GGUF file. Choose a model in GGUF format.",
        "{path} 不是 GGUF 文件，请选择 GGUF 格式的模型。",
    ),
    "problem.not_gguf_empty": (
        "{path} is empty: the download never started. Download it again.",
        "{path} 是空文件，下载并未开始。请重新下载。",
    ),
    "problem.not_gguf_web_page": (
        "{path} is a web page, not a model: the page was saved instead of the file. Use the direct download link.",
        "{path} 是网页而不是模型：保存下来的是网页。请使用文件的直接下载链接。",
    ),
    "problem.not_gguf_lfs_pointer": (
        "{path} only points to the model: the repository was cloned without Git LFS. Run “git lfs pull”, or download "
        "the file itself.",
        "{path} 只是一个指向模型的 Git LFS 指针文件。请在仓库中运行 git lfs pull，或直接下载模型文件。",
    ),
    "problem.not_gguf_old_ggml": (
        "{path} has a GGML format from before GGUF, which no current server reads. Download a GGUF version of it.",
        "{path} 是 GGUF 之前的旧 GGML 格式，现在的服务器已无法读取。请下载该模型的 GGUF 版本。",
    ),
    "problem.not_gguf_other_weights": (
        "{path} holds weights in another format (safetensors or PyTorch). Download a GGUF version of this model.",
        "{path} 是其他格式的权重（safetensors 或 PyTorch）。请下载该模型的 GGUF 版本。",
    ),
    "problem.gguf_big_endian": (
        "{path} was made for big-endian computers and cannot be used here. Download the usual little-endian version, "
        "or convert it.",
        "{path} 是大端字节序的文件，本机无法使用。请下载常见的小端版本，或先进行转换。",
    ),
    "problem.gguf_version": (
        "{path} is GGUF version {version}; current servers read versions 2 and 3. Download a newer file of this model.",
        "{path} 是 GGUF 第 {version} 版，当前服务器只支持第 2 版和第 3 版。请下载更新的模型文件。",
    ),
    "problem.gguf_truncated_header": (
        "{path} ends after {file_bytes:count byte|bytes}, inside its own header: the download is incomplete. Resume it "
        "or download the file again.",
        "{path} 只有 {file_bytes:num} 字节，连文件头都不完整：下载没有完成。请继续下载，或重新下载。",
    ),
    "problem.gguf_truncated": (
        "{path} is incomplete: {missing_bytes:num} of its {expected_bytes:num} bytes are missing. Resume the download, or "
        "download the file again.",
        "{path} 不完整：共 {expected_bytes:num} 字节，还缺 {missing_bytes:num} 字节。请继续下载，或重新下载。",
    ),
    "problem.gguf_part_missing": (
        "Part {number} of {parts} is missing: {part}. Put all parts of the model into one folder.",
        "缺少第 {number} 个分卷（共 {parts} 个）：{part}。请把模型的所有分卷放在同一文件夹中。",
    ),
    "problem.gguf_part_name": (
        "{path} is one of {parts} parts, but its name does not end in -00001-of-{parts:05d}.gguf or alike, so the "
        "server cannot find the others. Give the parts their original names back.",
        "{path} 是 {parts} 个分卷之一，但文件名不是 -00001-of-{parts:05d}.gguf 这样的形式，"
        "服务器无法找到其他分卷。请恢复分卷原来的文件名。",
    ),
    "problem.gguf_damaged": (
        "The header of {path} is damaged (code {detail}). Download the file again.",
        "{path} 的文件头已损坏（代码 {detail}）。请重新下载。",
    ),
    "problem.gguf_damaged_tensor": (
        "{path} is damaged at tensor {tensor} (code {detail}). Download the file again.",
        "{path} 在张量 {tensor} 处已损坏（代码 {detail}）。请重新下载。",
    ),
    "problem.gguf_zero_dimension": (
        "{path} is damaged: dimension {dimension} of tensor {tensor} is 0, and many servers crash on that. Download "
        "the file again.",
        "{path} 已损坏：张量 {tensor} 的第 {dimension} 维为 0，许多服务器会因此崩溃。请重新下载。",
    ),
    "problem.gguf_not_a_model": (
        "{path} is a GGUF file, but not a language model that llama-server runs. Choose another file.",
        "{path} 是 GGUF 文件，但不是 llama-server 能运行的语言模型。请选择其他文件。",
    ),
    "problem.gguf_not_a_model_projector": (
        "{path} is a vision or audio projector (mmproj), which goes beside a model. Choose the model file itself.",
        "{path} 是视觉或音频投影文件（mmproj），需与模型配合使用。请选择模型文件本身。",
    ),
    "problem.gguf_not_a_model_adapter": (
        "{path} is a LoRA adapter, which goes on top of a model. Choose the base model file.",
        "{path} 是 LoRA 适配器，需叠加在模型上使用。请选择基础模型文件。",
    ),
    "problem.gguf_not_a_model_vocab": (
        "{path} holds only a vocabulary and no weights. Choose the model file itself.",
        "{path} 只有词表，没有权重。请选择模型文件本身。",
    ),
    "problem.gguf_not_a_model_imatrix": (
        "{path} is an importance matrix (imatrix), made for quantizing a model. Choose the model file itself.",
        "{path} 是用于量化的重要性矩阵（imatrix）。请选择模型文件本身。",
    ),
    "problem.gguf_not_a_model_control_vector": (
        "{path} is a control vector, which steers a model. Choose the model file itself.",
        "{path} 是用于引导模型的控制向量。请选择模型文件本身。",
    ),
    "problem.demo_not_made": (
        "The demo model cannot be written to {path} ({why}). Free some space there, or open a model of your own.",
        "无法将演示模型写入 {path}（{why}）。请在该处腾出空间，或打开自己的模型。",
    ),
    "role.embedding": ("Embeddings", "词嵌入"),
    "role.output": ("Output head", "输出头"),
    "role.attention": ("Attention", "注意力"),
    "role.recurrent": ("Recurrent layers", "循环层"),
    "role.dense_ffn": ("Dense FFN", "稠密 FFN"),
    "role.router": ("Router", "路由"),
    "role.shared_expert": ("Shared experts", "共享专家"),
    "role.routed_expert": ("Experts", "专家"),
    "role.norm": ("Norms", "归一化"),
    "role.mtp": ("Multi-token prediction (MTP)", "多 token 预测（MTP）"),
    "role.vision": ("Vision", "视觉"),
    "role.other": ("Other", "其他"),
}
