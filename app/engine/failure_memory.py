"""The failure table, memory: what the engine, its backends and Windows print when there is none left. Pure."""

from __future__ import annotations

from app.engine.failure_readers import allocation, host_allocation, vram_allocation
from app.engine.failure_rule import MODEL, rule

_NO_COMMIT = (
    r"paging file is too small|[Ww]in(?:dows )?[Ee]rror 1455|os error 1455|ERROR_COMMITMENT_LIMIT"
    r"|页面文件太小|分頁檔太小"
    r"|Auslagerungsdatei ist zu klein|Файл подкачки слишком мал|ページング ?ファイルが小さすぎ|페이징 파일이 너무 작"
    r"|fichier de pagination est (?:trop petit|insuffisant)|archivo de paginación es demasiado pequeño"
    r"|arquivo de paginação é muito pequeno|file di paging .{0,20}insufficiente"
)
_NO_RESOURCES = (
    r"insufficient system resources|[Nn]ot enough memory resources|ErrorOutOfHostMemory|内存资源不足|系统资源不足"
    r"|記憶體資源不足|Nicht genügend (?:Arbeitsspeicher|Speicherressourcen)|Недостаточно ресурсов памяти"
)

WINDOWS_MEMORY = (
    rule("commit_limit", _NO_COMMIT, host_allocation, running=True),
    rule("host_oom", _NO_RESOURCES, host_allocation, running=True),
)
"""Windows says it in its own language, wherever it was met: in mapping a file, in reading one, in a buffer."""

MEMORY = (
    rule(
        "vram_oom_cuda",
        r"allocating \d{1,12}(?:[.,]\d+)? MiB on device \d{1,3}: (?:cuda|hip|musa)Malloc\w*",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"(?:CUDA|ROCm|MUSA|HIP) error(?: \d+ at [^:]{1,260}(?::\d+)?)?: out of memory",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"(?:CUDA|ROCm|MUSA|HIP|CUBLAS|cuBLAS) (?:error|status).*(?:shared object initialization failed|ALLOC_FAILED"
        r"|resource allocation failed|NOT_INITIALIZED|library was not initialized)",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"cudaMalloc\w* failed|hipMalloc\w* failed|cudaErrorMemoryAllocation|hipErrorOutOfMemory|CUDA out of memory",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"cuMem(?:Create|AddressReserve|Map|SetAccess)\b.{0,200}out of memory|CUDA_ERROR_OUT_OF_MEMORY",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_vulkan",
        r"ggml_vulkan: (?:Device m|M)emory allocation of size \d+ failed",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_vulkan",
        r"(?:Error)?OutOfDeviceMemory(?:Error)?\b|VK_ERROR_OUT_OF_DEVICE_MEMORY"
        r"|exceeds device (?:buffer size|memory allocation) limit|amdgpu: Not enough memory for command submission",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_device",
        r"aclrtMalloc failed|UR_RESULT_ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)|ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"
        r"|PI_ERROR_OUT_OF_RESOURCES|kIOGPUCommandBufferCallbackErrorOutOfMemory"
        r"|can't allocate \d+ Bytes of memory on device"
        r"|CL_(?:MEM_OBJECT_ALLOCATION_FAILURE|OUT_OF_RESOURCES)"
        r"|ggml_metal\S*: (?:error: )?failed to allocate (?!context)"
        r"|Metal buffer of \d+ bytes \(out of memory\)",
        vram_allocation,
        running=True,
    ),
    rule("weights_oom", MODEL + r".*unable to allocate (?P<buffer>.+?) buffer", allocation),
    rule("weights_oom", r"alloc_tensor_range: failed to (?:allocate|initialize) ", allocation),
    rule("kv_oom", r"failed to allocate buffer for (?:kv|rs) cache|llama_kv_cache_init\(\) failed", allocation),
    rule("kv_oom", r"failed to allocate buffer for DSV4", allocation),
    rule("compute_oom", r"failed to allocate compute (?:pp|tg)? ?buffers?", allocation),
    rule("compute_oom", r"gallocr_reserve\w*: failed to allocate \S+ buffer of size", allocation, running=True),
    rule("host_oom", r"ggml_aligned_malloc: insufficient memory", host_allocation, running=True),
    rule("host_oom", r"requires more system memory \((?P<gib>\d{1,5}(?:\.\d+)?) GiB\)", host_allocation),
    rule(
        "host_oom",
        r"(?:mmap|MapViewOfFile\w*|posix_memalign|calloc|malloc) failed.*(?:Cannot allocate|Not enough|error 12|$)",
        host_allocation,
    ),
    rule("host_oom", r"std::bad_alloc|bad allocation|Cannot allocate memory$", host_allocation, running=True),
    rule(
        "host_oom",
        r"failed to allocate (?:output )?buffer of size \d+|failed to allocate \s*\d+\.\d+ MB$",
        host_allocation,
    ),
    rule(
        "v_cache_needs_fa",
        r"[Vv] cache (?:quantization )?(?:requires flash_attn|was requested, but this requires Flash)",
    ),
    rule("moe_cache_too_small", r"MoE cache is too small to hold the experts of one token"),
)
"""CUDA's own words for "no memory left" vary with the moment: a kernel that cannot be loaded is a shared object that
does not initialise, cuBLAS without room for its workspace is "not initialized" (ggml-cuda.cu:87-100)."""
