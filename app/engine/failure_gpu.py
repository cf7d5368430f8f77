"""The failure table, graphics cards: what drivers and the GPU parts of the engine print when they fail. Pure.

CUDA's own words are those of cudaGetErrorString; HIP and MUSA builds print the same messages under their own names
(ggml-cuda.cu:100-109), Vulkan those of vulkan.hpp, SYCL those of Level Zero, Metal those of MTLCommandBufferError.
"""

from __future__ import annotations

from app.engine.failure_rule import rule

_NAMED = r"(?:CUDA|ROCm|MUSA|SYCL|HIP) error(?: \d+ at [^:]{1,260}(?::\d+)?)?: "
DRIVER_OLD = (
    r"CUDA driver version is insufficient for CUDA runtime version"
    r"|system has unsupported display driver / cuda driver combination"
    r"|forward compatibility was attempted on non supported HW"
    r"|the provided PTX was compiled with an unsupported toolchain"
    r"|cudaErrorInsufficientDriver|hipErrorInsufficientDriver"
)
"""The driver is older than what the engine was built with."""

GPU = (
    rule("gpu_driver_too_old", rf"{_NAMED}(?P<why>(?:{DRIVER_OLD}).*)", running=True),
    rule(
        "gpu_driver_missing",
        r"(?P<why>vk::createInstance: ErrorIncompatibleDriver|vk::IncompatibleDriverError"
        r"|Could not initialize Tensile host: No devices found|Could not find any (?:GPU|platform).*"
        r"|No device of requested type available.*|PI_ERROR_DEVICE_NOT_FOUND)",
    ),
    rule(
        "gpu_runtime_missing",
        r"(?P<why>could not select device driver .*|nvidia-container-cli: .*|unknown or invalid runtime name: nvidia.*"
        r"|Unknown runtime specified nvidia.*)",
    ),
    rule(
        "gpu_not_supported",
        rf"{_NAMED}(?P<why>(?:no kernel image is available|invalid device function|named symbol not found"
        r"|device kernel image is invalid|CUBLAS_STATUS_ARCH_MISMATCH|the requested device arch).*)",
        running=True,
    ),
    rule(
        "gpu_not_supported",
        r"(?P<why>has no device code compatible with (?:CUDA|HIP) arch \d+.*|hipErrorNoBinaryForGpu.*"
        r"|Cannot read \S{0,300}TensileLibrary\S* .*|hipErrorInvalidDeviceFunction.*|does not support 16-bit storage.*"
        r"|ErrorFeatureNotPresent|ErrorExtensionNotPresent|Vulkan 1\.\d required.*|ErrorLayerNotPresent"
        r"|vk::(?:Feature|Extension)NotPresentError|ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"
        r"|UR_RESULT_ERROR_UNSUPPORTED_FEATURE|Required aspect fp(?:16|64) is not supported.*)",
        running=True,
    ),
    rule(
        "gpu_memory_faulty",
        r"(?P<why>uncorrectable (?:NVLINK|ECC) error.*|Xid \([^)]*\): (?:48|63|64|94|95),.*)",
        running=True,
    ),
    rule(
        "gpu_lost",
        r"(?P<why>the launch timed out and was terminated|GPU has fallen off the bus.*|(?<![^\n]).*ErrorDeviceLost.*"
        r"|vk::DeviceLostError|VK_ERROR_DEVICE_LOST.*|device lost on .*|device fault on .*|context is lost.*|GPU Hang.*"
        r"|UR_RESULT_ERROR_DEVICE_LOST.*|ZE_RESULT_ERROR_DEVICE_LOST.*|Xid \([^)]*\): (?:8|79|119|120|154),.*"
        r"|kIOGPUCommandBufferCallbackError(?:Hang|Timeout|ImpactingInteractivity|InnocentVictim|SubmissionsIgnored)"
        r"|amdgpu: (?:ring \S+ timeout|GPU reset).*)",
        running=True,
    ),
    rule("gpu_error", rf"(?P<why>{_NAMED}.*|vk::\w*Error.*)", running=True),
    rule(
        "gpu_error",
        r"(?P<why>command buffer \d+ failed with status \d+.*|Memory access fault by GPU node.*"
        r"|Native API failed\. .*|compute pipeline creation failed for .*|Compute pipeline creation failed for .*"
        r"|failed to initialize (?!CPU)\S{1,80} backend|Error Domain=MTLLibraryErrorDomain.*"
        r"|PI_ERROR_\w+.*|UR_RESULT_ERROR_(?!OUT_OF)\w+.*|CHECK_TRY_ERROR.*)",
        running=True,
    ),
)

DEVICES = (
    rule(
        "engine_backends_missing",
        r"(?P<why>no backends are loaded.*|no CPU backend found|failed to initialize CPU backend)",
    ),
    rule(
        "bad_argument_value",
        r"(?P<why>invalid value for (?P<argument>main_gpu): -?\d+.*)",
        lambda match, _: {"argument": "-mg", "why": match["why"]},
    ),
    rule(
        "split_mode_unsupported",
        r"(?P<why>does not support split buffers|LLAMA_SPLIT_MODE_TENSOR not implemented for architecture .*"
        r"|SPLIT_MODE_TENSOR requires .*|LLAMA_SPLIT_MODE_TENSOR needs .*)",
    ),
    rule(
        "cache_type_unfit",
        r"(?P<why>[KV] cache type \S+ with block size \d+ does not divide .*"
        r"|model does not support different K \(\S+\) and V \(\S+\) cache types)",
    ),
)
"""llama.cpp:167-408, llama-model.cpp:363-1165, llama-context.cpp:3805-3869."""
