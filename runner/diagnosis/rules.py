r"""Known texts and what they prove: a table to read from top to bottom and to extend.

``RULES`` holds the texts that name a cause, ``NOISE`` those that look like one and prove nothing, ``SIGNAL_TEXTS``
those that tell by which signal some process ended. What must not live here: the weighing of several texts against each
other, of texts against exit statuses or counters (``diagnose`` does that), and what is true of logs in general, such as
levels and hedges (``lines``).

How to add a row. Write what the library always says, not one run's line: no sizes, paths or device numbers, and words
rather than codes, since logs reach people with their digits blotted out. Begin each alternative with ``\b``: "bloom"
holds "oom". Keep the pattern linear: no repetition inside a repetition, and gaps with an upper bound. Of the rows that
fit *one line* the first in the table counts, so the special stands above the general. Between *lines* the weight counts
first and then their order. If the decisive words come after a gap, name their group ``key``: hedges ("may run", "to
avoid") are looked for before it.
"""

import re
import signal
from enum import IntEnum

import msgspec

from fsm.failure import Certainty, Kind, OomScope, Phase


class Level(IntEnum):
    """How loudly a line was said. A line that names no level may be an error, so it counts as one."""

    QUIET = 0
    WARNING = 1
    ERROR = 2


class Weight(IntEnum):
    """Place in a cascade. The first line of the lowest weight is the root."""

    CAUSE = 0
    """Breaks a process by itself."""
    GENERAL = 1
    """A cause if none is named more precisely; often printed by what goes on regardless, or by a peer's death."""
    CONSEQUENCE = 2
    """What is seen when something else went wrong: the last exception, a check that failed, an engine found dead."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One known text."""

    id: str
    pattern: re.Pattern[str]
    kind: Kind
    certainty: Certainty = Certainty.CERTAIN
    scope: OomScope | None = None
    """For ``oom``. ``None``: the text does not tell; the platform may."""
    says: str
    """What the text proves, as the beginning of a sentence."""
    origin: str
    """Whose text it is."""
    weight: Weight = Weight.CAUSE
    level: Level = Level.ERROR
    """The lowest level at which the text counts."""
    phases: frozenset[Phase] = frozenset(Phase)
    """Where the text means this; elsewhere the row is passed over."""
    needs_kill: bool = False
    """The text speaks of some process; it is about ours only if ours was killed, or if its exit is unknown."""
    or_memory: bool = False
    """Known to be a mask of running out of memory: if more was needed than was free, it is that."""


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """A text that proves nothing, though it looks as if it did. A line that fits is not read further."""

    id: str
    pattern: re.Pattern[str]
    why: str
    origin: str
    names_signal: bool = False
    """What the line says of a signal is true all the same."""


class SignalText(msgspec.Struct, frozen=True, kw_only=True):
    """A text that tells by which signal a process ended.

    The signal is the row's; else a group of the pattern holds it as ``number``, as ``name``, or as ``status`` (or
    ``systemd``), where a shell has added 128.
    """

    id: str
    pattern: re.Pattern[str]
    signal: int | None = None
    origin: str


def _any(alternatives: tuple[str, ...], flags: int) -> re.Pattern[str]:
    # One test for a word's beginning stands before all that need it: three times as fast as one in each.
    words = [alternative.removeprefix(r"\b") for alternative in alternatives if alternative.startswith(r"\b")]
    others = [alternative for alternative in alternatives if not alternative.startswith(r"\b")]
    if words:
        others.insert(0, rf"\b(?:{'|'.join(words)})")
    return re.compile("|".join(others), flags)


def text(*alternatives: str) -> re.Pattern[str]:
    """A pattern that finds any of these, in upper or lower case."""
    return _any(alternatives, re.IGNORECASE | re.ASCII)


def exact(*alternatives: str) -> re.Pattern[str]:
    """The same in this case only: for words that mean it only so, such as ``Killed`` on a line of its own."""
    return _any(alternatives, re.ASCII)


_PROBABLE = Certainty.PROBABLE
_HOST, _DEVICE, _CAP = OomScope.HOST, OomScope.DEVICE, OomScope.BUFFER_CAP

NOISE: tuple[Noise, ...] = (
    Noise(
        id="leaked-semaphore",
        pattern=text(
            r"\bleaked (?:semaphore|shared_memory|folder|file)\b",
            r"\bresource_tracker: ",
        ),
        why="Python's resource tracker tidies up after any death; it says nothing about which",
        origin="python",
    ),
    Noise(
        id="pinned-memory-fallback",
        pattern=text(
            r"\bpinned memory\b",
        ),
        why="the allocation is made again in pageable memory",
        origin="llama.cpp, pytorch",
    ),
    Noise(
        id="mlock",
        pattern=text(
            r"\bm(?:un)?lock(?:all)?\b",
            r"\bRLIMIT_MEMLOCK\b",
            r"\bVirtualLock\b",
        ),
        why="locking memory is a wish; without it the run goes on",
        origin="llama.cpp",
    ),
    Noise(
        id="guess",
        pattern=text(
            r"\bperhaps out of memory\b",
            r"\bout of memory\s*\?",
            r"\bOOM\s*\?",
        ),
        why="a guess of somebody who only saw the signal",
        origin="gunicorn",
        names_signal=True,
    ),
    Noise(
        id="list-of-possible-causes",
        pattern=text(
            r"\bpotential root causes\b",
            r"\bkilled by SIGKILL by OOM killer due to high memory usage\b",
            r"\b(?:possible|potential|common) (?:causes?|reasons?)\b",
            r"\bSIGSEGV or other unexpected errors\b",
        ),
        why="a list of what it might be",
        origin="ray",
    ),
    Noise(
        id="allocator-advice",
        pattern=text(
            r"^(?!.*\bout of memory\b).*\bmax_split_size_mb\b",
            r"^(?!.*\bout of memory\b).*\bPYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF\b",
            r"^(?!.*\bout of memory\b).*\bexpandable_segments\b",
        ),
        why="advice about settings, which is printed without a failure too",
        origin="pytorch",
    ),
    Noise(
        id="not-a-failure",
        pattern=text(
            r"\bcaller indicates that this is not a failure\b",
            r"\bthis is not an error\b",
            r"\bcan be safely ignored\b",
        ),
        why="the text says itself that nothing failed",
        origin="tensorflow",
    ),
    Noise(
        id="large-allocation-notice",
        pattern=text(
            r"\bAllocation of \d+ exceeds [\d.]+% of (?:free )?system memory\b",
            r"\brecommended max working set size\b",
            r"\brecommendedMaxWorkingSetSize\b",
        ),
        why="a notice of a large allocation, which may well succeed",
        origin="tensorflow, llama.cpp on Metal",
    ),
    Noise(
        id="oom-settings",
        pattern=text(
            r"^(?!.*\b(?:killed process|invoked oom-killer)\b).*\boom_(?:score(?:_adj)?|control|group)\b",
            r"\bOOMScoreAdjust\b",
            r"\bOOMPolicy\b",
            r"\bOOM(?:[- ]?killer)? (?:protection|prevention|guard|detection|handling)\b",
            r"\bOOM(?:[- ]?killer)? (?:score|watcher|monitor(?:ing)?|policy)\b",
        ),
        why="a setting, not an event",
        origin="kernel, systemd, container runtimes",
    ),
    Noise(
        id="access-log",
        pattern=text(
            r"\"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) [^\"\n]{0,2000} HTTP/[\d.]+\"",
            r"^\[GIN\] ",
        ),
        why="a request that some client made of this server, and the answer",
        origin="uvicorn, flask, gin",
    ),
    Noise(
        id="exception-in-destructor",
        pattern=text(
            r"^Exception ignored (?:in|on|while)\b",
        ),
        why="Python prints and forgets it while it tidies up",
        origin="python",
    ),
)

_LINKS: tuple[Rule, ...] = (
    # Above the memory texts: what these can't get is a registration or a queue, however they word it.
    Rule(
        id="ibverbs",
        pattern=text(
            r"\bibv_\w+",
        ),
        kind=Kind.TRANSPORT,
        certainty=_PROBABLE,
        says="A call to the RDMA device failed",
        origin="libibverbs",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="mlx-distributed",
        pattern=text(
            r"\[(?:jaccl|ring|mpi|nccl)\]",
            r"\bcannot initialize (?:jaccl|ring|mpi|nccl)\b",
            r"\b(?:jaccl|ring) distributed backend\b",
        ),
        kind=Kind.TRANSPORT,
        certainty=_PROBABLE,
        says="MLX lost or could not make the link to its peers",
        origin="mlx",
        weight=Weight.GENERAL,
    ),
)

_PORTS: tuple[Rule, ...] = (
    Rule(
        id="address-in-use",
        pattern=text(
            r"\baddress (?:is )?already in use\b",
            r"\bEADDRINUSE\b",
            r"\baddress in use\b",
            r"\bonly one usage of each socket address\b",
            r"\bport \d+ (?:is )?(?:already )?(?:in use|being used|occupied|taken|allocated)\b",
            r"\bport is already (?:in use|allocated)\b",
            r"\bcannot find (?:an )?empty port\b",
        ),
        kind=Kind.PORT_IN_USE,
        says="The port is held by another program",
        origin="operating system, uvicorn, gradio, docker",
    ),
    Rule(
        id="bind-failed",
        pattern=text(
            r"\b(?:couldn't|could not|failed to|unable to|can't|cannot) bind\b.{0,60}\b(?:socket|port|address)\b",
        ),
        kind=Kind.PORT_IN_USE,
        certainty=_PROBABLE,
        says="The server could not bind its port",
        origin="llama.cpp server, zeromq",
        weight=Weight.GENERAL,
    ),
)

_MEMORY: tuple[Rule, ...] = (
    Rule(
        id="metal-buffer-cap",
        pattern=text(
            r"\bgreater than the maximum allowed buffer size\b",
            r"\blarger than (?:the )?buffer maximum\b",
            r"\bInvalid buffer size: [\d.]+ ?[KMGT]i?B\b",
            r"\b(?:buffer|allocation)(?: size)?(?: \([^)]{0,40}\))? exceeds (?:the )?(?:device|max)\w*\b",
            r"\b(?:buffer|allocation)(?: size)? is (?:larger|greater) than (?:the )?(?:device|max)\w*\b",
        ),
        kind=Kind.OOM,
        scope=_CAP,
        says="One buffer was larger than the device allows a single buffer to be",
        origin="mlx, llama.cpp, pytorch on Metal, vulkan",
    ),
    Rule(
        id="metal-insufficient-memory",
        pattern=text(
            r"CommandBuffer(?:Callback)?Error(?:OutOfMemory|StackOverflowMemory)\b",
            r"\bInsufficient Memory \(",
            r"\bcommand buffer\b[^.]{0,80}\bInsufficient Memory\b",
        ),
        kind=Kind.OOM,
        scope=_DEVICE,
        says="Metal had not enough memory for a command buffer",
        origin="metal driver",
    ),
    Rule(
        id="mlx-malloc",
        pattern=text(
            r"\[[\w:]*\b\w*malloc\w*\] (?:Unable|Failed) to allocate\b",
        ),
        kind=Kind.OOM,
        says="MLX could not allocate an array",
        origin="mlx",
    ),
    Rule(
        id="device-memory-codes",
        pattern=text(
            r"\b(?:CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|hipErrorOutOfMemory|hipErrorMemoryAllocation)\b",
            r"\b(?:CUBLAS|CUDNN|CUSPARSE|CUFFT|CUSOLVER|HIPBLAS)_(?:STATUS_)?ALLOC_FAILED\b",
            r"\brocblas_status_memory_error\b",
            r"\bmiopenStatusAllocFailed\b",
            r"\b(?:Error)?OutOf(?:Device|Pool)Memory(?:Error)?\b",
            r"\bVK_ERROR_OUT_OF_(?:DEVICE|POOL)_MEMORY\b",
            r"\b\w+_ERROR_OUT_OF_DEVICE_MEMORY\b",
            r"\bCL_MEM_OBJECT_ALLOCATION_FAILURE\b",
        ),
        kind=Kind.OOM,
        scope=_DEVICE,
        says="The GPU's allocator was out of memory",
        origin="cuda, rocm, vulkan, opencl, level zero",
    ),
    Rule(
        id="device-resource-codes",
        pattern=text(
            r"\bHSA_STATUS_ERROR_OUT_OF_RESOURCES\b",
            r"\b(?:PI|UR_RESULT)_ERROR_OUT_OF_RESOURCES\b",
            r"\bCL_OUT_OF_RESOURCES\b",
        ),
        kind=Kind.OOM,
        certainty=_PROBABLE,
        scope=_DEVICE,
        says="The GPU's runtime was out of a resource, which is memory as a rule",
        origin="rocm, sycl, opencl",
    ),
    Rule(
        id="host-memory-codes",
        pattern=text(
            r"\b(?:Error)?OutOfHostMemory(?:Error)?\b",
            r"\b\w+_OUT_OF_HOST_MEMORY\b",
            r"\bE_OUTOFMEMORY\b",
            r"\bENOMEM\b",
            r"\bSTATUS_NO_MEMORY\b",
        ),
        kind=Kind.OOM,
        scope=_HOST,
        says="The system was out of memory",
        origin="operating system, vulkan, opencl",
    ),
    Rule(
        id="ray-memory-monitor",
        pattern=text(
            r"\bray\.exceptions\.OutOfMemoryError\b",
            r"\bkilled due to (?:memory pressure|the node running low on memory)\b",
        ),
        kind=Kind.OOM,
        scope=_HOST,
        says="Ray's memory monitor ended a worker because the machine ran out of memory",
        origin="ray",
        level=Level.WARNING,
    ),
    Rule(
        id="managed-heap",
        pattern=text(
            r"\bjava\.lang\.OutOfMemoryError\b",
            r"\bheap out of memory\b",
            r"\bfatal error: runtime: (?:out of|cannot allocate) memory\b",
        ),
        kind=Kind.OOM,
        scope=_HOST,
        says="A language runtime's heap was out of memory",
        origin="java, node, go",
    ),
    Rule(
        id="device-out-of-memory",
        pattern=text(
            r"\bOutOfMemoryError\b",
            r"\b(?:cuda|hip|rocm|musa|xpu|npu|mps|vulkan|sycl|opencl|gpu|vram|metal|device)\b[^.;?]{0,60}?"
            r"\b(?P<key>out of (?:\w+ )?memory)\b",
            r"\b(?:cuda|hip|musa|cublas|hipblas|nccl|cu)[A-Z]\w*\b[^;?]{0,120}?\bout of memory\b",
            r"\bTried to allocate [\d.]+ [KMGT]i?B\b[^;]{0,40}\bGPU\b",
        ),
        kind=Kind.OOM,
        scope=_DEVICE,
        says="The GPU was out of memory",
        origin="pytorch, cuda, rocm, mlx on CUDA, llama.cpp",
    ),
    Rule(
        id="tensorflow-oom",
        pattern=text(
            r"\bOOM when allocating tensor\b",
            r"\bRESOURCE_EXHAUSTED: (?:.{0,80}\b)?(?:out of memory|failed to allocate|OOM)\b",
        ),
        kind=Kind.OOM,
        scope=_DEVICE,
        says="A tensor could not be allocated",
        origin="tensorflow, jax",
    ),
    Rule(
        id="tensorflow-bfc",
        pattern=text(
            r"\bAllocator \(\w+\) ran out of memory trying to allocate\b",
        ),
        kind=Kind.OOM,
        certainty=_PROBABLE,
        scope=_DEVICE,
        says="TensorFlow's allocator ran out of memory",
        origin="tensorflow",
        # Its only report of a failed allocation comes at this level; the harmless ones say so (see not-a-failure).
        level=Level.WARNING,
        weight=Weight.GENERAL,
    ),
    Rule(
        id="kv-cache-does-not-fit",
        pattern=text(
            r"\bNo available memory for the cache blocks\b",
            r"\blarger than the available KV cache memory\b",
            r"\blarger than the maximum number of tokens that can be stored in (?:the )?KV cache\b",
            r"\b(?:not enough|insufficient) (?:gpu |device )?(?:memory|space)\b.{0,20}\bkv[ _-]?cache\b",
            r"\b(?:failed|unable) to (?:allocate|reserve|create)\b[^.]{0,60}\bkv[ _-]?cache\b",
            r"\b(?:prefill|decode) out of memory\b",
            r"\bincrease --mem-fraction-static\b",
        ),
        kind=Kind.OOM,
        scope=_DEVICE,
        says="The key-value cache did not fit",
        origin="vllm, sglang, llama.cpp",
    ),
    Rule(
        id="startup-memory-check",
        pattern=text(
            r"\bFree memory on device\b.{0,120}\bless than desired GPU memory utilization\b",
            r"\bmodel requires more (?:system |gpu |video )?memory\b.{0,60}\bthan (?:is )?available\b",
            r"\bNot enough memory to handle\b",
            r"\bModel weights? (?:do|does) not fit (?:in|into)\b.{0,40}\bmemory\b",
        ),
        kind=Kind.OOM,
        says="The memory that was free did not suffice for the model",
        origin="vllm, ollama, text-generation-inference",
    ),
    Rule(
        id="ggml-null-pool",
        pattern=text(
            r"\bGGML_ASSERT\b.{0,120}?\bmem_buffer\s*!=\s*(?:NULL|nullptr)",
        ),
        kind=Kind.OOM,
        certainty=_PROBABLE,
        scope=_HOST,
        says="ggml's allocation of its memory pool returned nothing",
        origin="llama.cpp",
    ),
    Rule(
        id="backend-buffer",
        pattern=text(
            r"\b(?:failed|unable) to allocate (?:(?!pinned\b)[\w.]+ ){0,3}?(?:buffers?|memory|[KMG]i?B|bytes)\b",
            r"\bDevice memory allocation of size \d+ failed\b",
            r"\bfailed to create buffer of size\b",
        ),
        kind=Kind.OOM,
        says="A buffer could not be allocated",
        origin="llama.cpp",
    ),
    Rule(
        id="kernel-oom-kill",
        pattern=text(
            r"\bout of memory: kill(?:ed)? process\b",
            r"\bMemory cgroup out of memory\b",
            r"\boom-kill:",
            r"\boom_reaper: reaped\b",
            r"\binvoked oom-killer\b",
            r"\boom[-_]kill event",
            r"""\bOOMKilled\b(?![\"']?\s*[:=]\s*false)""",
            r"\bresult '?oom-kill'?",
            r"\bkilled by (?:the )?OOM[- ]?killer\b",
            r"\bkilled by (?:the )?kernel OOM\b",
            r"\bOOM[- ]killed\b",
            r"\bsystemd-oomd\b.{0,40}\bkilled\b",
            r"\bkilled\b.{0,80}\bby systemd-oomd\b",
            r"\b(?:low memory! at or below|earlyoom\b.{0,60}\bsending SIG)",
        ),
        kind=Kind.OOM,
        scope=_HOST,
        says="The system's OOM killer ended a process",
        origin="kernel log, systemd, kubernetes, docker, earlyoom",
        level=Level.WARNING,
        needs_kill=True,
    ),
    Rule(
        id="jetsam",
        pattern=text(
            r"\bjetsam\b.{0,80}\b(?:kill\w*|terminat\w*|reason|memory|limit)\b",
            r"\bJETSAM_REASON_\w+",
            r"\bmemorystatus: kill\w*",
            r"\bNamespace JETSAM\b",
            r"\bEXC_RESOURCE\b.{0,60}\bMEMORY\b",
            r"\bsystem has run out of application memory\b",
            r"\blow swap: killing\b",
        ),
        kind=Kind.OOM,
        scope=_HOST,
        says="macOS ended a process because memory ran out",
        origin="macos kernel log",
        level=Level.WARNING,
        needs_kill=True,
    ),
    Rule(
        id="host-allocation",
        pattern=text(
            r"\bstd::bad_alloc\b",
            r"\bbad_alloc\b",
            r"\bbad allocation\b",
            r"\b_?(?:Array)?MemoryError\b(?!.{0,40}\bhandler\b)",
            r"\b(?:can't|cannot|can not|could not|couldn't) allocate (?:\w+ )?memory\b",
            r"\bUnable to allocate [\d.]+ [KMGTP]?i?B\b",
            r"\bmemory allocation of \d+ bytes failed\b",
            r"\bDefaultCPUAllocator: (?:not enough|can't allocate)",
            r"\bvirtual memory exhausted\b",
            r"\bmemory exhausted\b",
            r"\bcan't allocate region\b",
            r"\bpaging file is too small\b",
            r"\bNot enough memory resources\b",
            r"\bm?alloc(?:ation)? failed\b.{0,40}\bmemory\b",
        ),
        kind=Kind.OOM,
        scope=_HOST,
        says="The system gave no more memory",
        origin="c++ library, python, numpy, glibc, macos malloc, rust, windows",
    ),
    Rule(
        id="insufficient-memory",
        pattern=text(
            r"\binsufficient (?:\w+ )?(?:memory|vram)\b(?! bandwidth)",
            r"\bnot enough (?:(?:free|available|gpu|device|video|system|graphics|cuda) ){0,2}(?:memory|vram|ram)\b",
        ),
        kind=Kind.OOM,
        certainty=_PROBABLE,
        says="There was not enough memory",
        origin="many",
    ),
    Rule(
        id="out-of-memory",
        pattern=text(
            r"\b(?:ran |running |run )?out of (?:(?:gpu|device|video|system|host|shared gpu|cuda|graphics) )?memory\b",
            r"\bout of (?:vram|ram)\b",
            r"\bOOM (?:error|exception|when|while|during)\b",
            r"\b(?:hit|got|caught|encountered|due to|because of|died of|from) (?:an? )?(?P<key>OOM)\b",
        ),
        kind=Kind.OOM,
        certainty=_PROBABLE,
        says="It said that it was out of memory",
        origin="many",
    ),
)

_GPU: tuple[Rule, ...] = (
    Rule(
        id="metal-time-limit",
        pattern=text(
            r"CommandBufferCallbackError(?:Timeout|Hang|ImpactingInteractivity)\b",
            r"\bCaused GPU (?:Timeout|Hang) Error\b",
            r"\bImpacting Interactivity\b",
            r"\bInternal Error \(0000000e:",
        ),
        kind=Kind.GPU_TIMEOUT,
        says="Metal stopped a command buffer that held the GPU for too long",
        origin="metal driver",
    ),
    Rule(
        id="gpu-hang",
        pattern=text(
            r"\bcudaErrorLaunchTimeout\b",
            r"\bthe launch timed out and was terminated\b",
            r"\breason ?: ?GPU Hang\b",
            r"\bGPU HANG\b",
            r"\bamdgpu\b.{0,60}\bring \w+ timeout\b",
            r"\bVK_TIMEOUT\b",
            r"\bGPU (?:watchdog|timeout)\b(?=.{0,40}\b(?:error|expired|exceeded|detected|reset)\b)",
        ),
        kind=Kind.GPU_TIMEOUT,
        says="The GPU did not finish a step within the system's limit",
        origin="cuda, rocm, vulkan",
    ),
    Rule(
        id="metal-fault",
        pattern=text(
            r"CommandBufferCallbackError(?:PageFault|InvalidResource|AccessRevoked|NotPermitted)\w*",
            r"\bCaused GPU Address Fault\b",
        ),
        kind=Kind.GPU_FAULT,
        says="The GPU touched memory that it may not",
        origin="metal driver",
    ),
    Rule(
        id="metal-aftermath",
        pattern=text(
            r"CommandBufferCallbackError(?:SubmissionsIgnored|InnocentVictim|Internal)\w*",
            r"\bIgnored \(for causing prior\b",
            r"\bvictim of GPU error\b",
            r"\bInnocent Victim\b",
            r"\bblacklisting by kernel driver\b",
        ),
        kind=Kind.GPU_FAULT,
        certainty=_PROBABLE,
        says="Metal turned the work away after an earlier GPU error, possibly of another process",
        origin="metal driver",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="device-assert",
        pattern=text(
            r"\bdevice-side assert\b",
            r"\bcudaErrorAssert\b",
            r"\bCUDA_ERROR_ASSERT\b",
            r"\bhipErrorAssert\b",
        ),
        kind=Kind.ASSERTION,
        says="A check inside a GPU kernel failed",
        origin="cuda, rocm, pytorch",
    ),
    Rule(
        id="cuda-illegal-address",
        pattern=text(
            r"\billegal memory access was encountered\b",
            r"\bCUDA_ERROR_ILLEGAL_ADDRESS\b",
            r"\b(?:cuda|hip)ErrorIllegalAddress\b",
        ),
        kind=Kind.GPU_FAULT,
        certainty=_PROBABLE,
        says="The GPU touched memory that it may not",
        origin="cuda, rocm",
        or_memory=True,
    ),
    Rule(
        id="gpu-fault",
        pattern=text(
            r"\bMemory access fault by GPU\b",
            r"\bGPU has fallen off the bus\b",
            r"\bNVRM: Xid\b",
            r"\bunspecified launch failure\b",
            r"\b(?:hardware stack error|invalid program counter|illegal instruction) (?:was )?encountered\b",
            r"\bmisaligned address\b",
            r"\buncorrectable (?:ECC|NVLink) error\b",
            r"\bCUDA_ERROR_(?:LAUNCH_FAILED|ECC_UNCORRECTABLE|MISALIGNED_ADDRESS)\b",
            r"\bcudaErrorLaunchFailure\b",
            r"\bhipErrorLaunchFailure\b",
            r"\bHSA_STATUS_ERROR_(?:MEMORY_(?:APERTURE_VIOLATION|FAULT)|EXCEPTION|ILLEGAL_INSTRUCTION)\b",
            r"\bHW Exception by GPU\b",
            r"\bErrorDeviceLost\b",
            r"\bVK_ERROR_DEVICE_LOST\b",
            r"\bDXGI_ERROR_DEVICE_(?:REMOVED|HUNG|RESET)\b",
            r"\bDEVICE_LOST\b",
            r"\b(?:CUBLAS|CUDNN|HIPBLAS)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)\b",
            r"\b(?:CUDA|HIP|ROCm) error: unknown error\b",
            r"\bGPU page fault\b",
            r"\bGPU (?:core dump|reset)\b(?=.{0,40}\b(?:begin|creat|detected|success|fail))",
        ),
        kind=Kind.GPU_FAULT,
        says="The GPU reported a fault",
        origin="cuda, rocm, vulkan, directx, kernel log",
    ),
    Rule(
        id="no-device",
        pattern=text(
            r"\bno (?:CUDA|ROCm|HIP)-capable device\b",
            r"\bCUDA_ERROR_NO_DEVICE\b",
            r"\b(?:cuda|hip)ErrorNoDevice\b",
            r"\bNo (?:CUDA|HIP) GPUs are available\b",
            r"\bFound no NVIDIA driver\b",
            r"\bNVIDIA-SMI has failed\b",
            r"\bcouldn't communicate with the NVIDIA driver\b",
            r"\bdriver version is insufficient for (?:the )?CUDA runtime\b",
            r"\bCUDA driver initialization failed\b",
            r"\bcudaErrorInsufficientDriver\b",
            r"\bdriver on your system is too old\b",
            r"\bFailed to infer device type\b",
            r"\berror from cudaGetDeviceCount\b",
            r"\bforward compatibility was attempted\b",
            r"\bno devices? (?:was |were )?(?:found|available|detected)\b",
            r"\bdevices? (?:is|are) busy or unavailable\b",
            r"\bno kernel image is available\b",
            r"\b(?:cuda|hip)ErrorNo(?:KernelImageForDevice|BinaryForGpu)\b",
            r"\bUnable to find code object for all current devices\b",
            r"\bNot compiled with (?:CUDA|ROCm|MPS|XPU|GPU)\b",
            r"\bMPS (?:backend|device) is not available\b",
            r"\bcould not select device driver\b",
            r"\b(?:GPU|CUDA|Metal|device) (?:is )?not (?:available|found|detected)\b",
            r"\bnot (?:have|find) (?:a |any )?(?:\w+ )?(?:GPUs?|Metal device)\b",
            r"\bno (?:\w+ )?(?:Metal|CUDA|GPU|Vulkan|ROCm|HIP|OpenCL|SYCL|NVIDIA|AMD)"
            r"(?:[- ](?:capable|compatible|enabled))?(?: gpu)?(?: devices?| gpus?)? (?:(?:was|were|is|are) )?"
            r"(?:found|available|detected|visible|present)\b",
            r"\bcompiled without (?:GPU|CUDA|Metal) support\b",
            r"\bMTLCreateSystemDefaultDevice\b",
            r"\bfailed to (?:create|find|load|initialize) (?:\w+ ){0,2}(?:metal|gpu|cuda) (?:device|backend)\b",
            r"\bggml_vulkan: No devices found\b",
            r"\bcuInit\b.{0,40}\bfail",
            r"\bfailed call to cuInit\b",
            r"\bErrorIncompatibleDriver\b",
            r"\bVK_ERROR_INCOMPATIBLE_DRIVER\b",
        ),
        kind=Kind.NO_DEVICE,
        says="No GPU was found that this build can use",
        origin="cuda, rocm, pytorch, vllm, llama.cpp, metal, docker",
        weight=Weight.GENERAL,
    ),
)

_SPECIAL_LIMITS: tuple[Rule, ...] = (
    # Above disk and memory: "no space left" for watches, "out of memory" of a segment with a limit of its own.
    Rule(
        id="watch-limit",
        pattern=text(
            r"\bfile watchers? (?:limit )?reached\b",
            r"\binotify (?:watch|instance)\w* limit\b",
        ),
        kind=Kind.RESOURCE_LIMIT,
        says="The limit of watched files was reached",
        origin="kernel, node",
    ),
    Rule(
        id="shared-memory-limit",
        pattern=text(
            r"\bout of shared memory\b",
            r"\binsufficient shared memory\b",
            r"\bincrease (?:the )?(?:shared memory|shm)\b",
            r"\braise your shared memory limit\b",
        ),
        kind=Kind.RESOURCE_LIMIT,
        certainty=_PROBABLE,
        says="The limit of shared memory was reached",
        origin="pytorch, cuda",
    ),
)

_LIMITS: tuple[Rule, ...] = (
    Rule(
        id="metal-resource-limit",
        pattern=text(
            r"\[metal::malloc\] Resource limit\b",
            r"\bResource limit \(\d+\) exceeded\b",
        ),
        kind=Kind.RESOURCE_LIMIT,
        says="The limit of Metal buffers was reached; it counts buffers, not bytes",
        origin="mlx",
    ),
    Rule(
        id="open-files",
        pattern=text(
            r"\btoo many open files\b",
            r"\bEMFILE\b",
            r"\bENFILE\b",
            r"\bfile descriptor limit\b",
            r"\btoo many open file descriptors\b",
        ),
        kind=Kind.RESOURCE_LIMIT,
        says="The limit of open files was reached",
        origin="operating system",
    ),
    Rule(
        id="threads",
        pattern=text(
            r"\bcan't start new thread\b",
            r"\bpthread_create\b.{0,60}\b(?:failed|error|resource temporarily unavailable|cannot)\b",
            r"\b(?:failed to|unable to|cannot|could not) (?:create|spawn|start) (?:\w+ ){0,2}(?:thread|process)\b",
            r"\bfork\b.{0,40}\bresource temporarily unavailable\b",
            r"\bRLIMIT_NPROC\b",
            r"\btoo many (?:threads|processes)\b",
            r"\bthread creation failed\b",
            r"\bThreadPoolBuildError\b",
        ),
        kind=Kind.RESOURCE_LIMIT,
        certainty=_PROBABLE,
        says="The limit of threads or processes was reached",
        origin="python, openblas, glibc, rust",
    ),
    Rule(
        id="try-again",
        pattern=text(
            r"\bresource temporarily unavailable\b",
            r"\bEAGAIN\b.{0,40}\b(?:fork|clone|thread)\b",
            r"\bcpu time limit exceeded\b",
            r"\bfile size limit exceeded\b",
        ),
        kind=Kind.RESOURCE_LIMIT,
        certainty=_PROBABLE,
        says="The system refused a resource",
        origin="operating system",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="disk-full",
        pattern=text(
            r"\bno space left on (?:the )?(?:device|disk)\b",
            r"\bENOSPC\b",
            r"\bdisk quota exceeded\b",
            r"\bEDQUOT\b",
            r"\bnot enough (?:free )?(?:disk space|space on (?:the )?(?:disk|device))\b",
            r"\binsufficient (?:free )?disk space\b",
            r"\bdisk (?:is )?full\b",
            r"\bout of disk space\b",
            r"\bdatabase or disk is full\b",
        ),
        kind=Kind.DISK_FULL,
        says="The disk was full",
        origin="operating system, hub",
    ),
)

_MODELS: tuple[Rule, ...] = (
    Rule(
        id="gated",
        pattern=text(
            r"\bGatedRepoError\b",
            r"\bgated repo\b",
            r"\bAccess to model\b.{0,160}\bis restricted\b",
            r"\bLocalTokenNotFoundError\b",
            r"\bmust be authenticated\b",
            r"\bToken is required\b",
            r"\binvalid (?:user )?(?:access )?token\b",
            r"\bInvalid credentials in Authorization header\b",
            r"\bawaiting a review from the repo authors\b",
            r"\brequires? (?:you to be )?(?:authentication|authenticated|logged in)\b",
        ),
        kind=Kind.AUTH,
        says="The hub refused access to the model",
        origin="hub",
    ),
    Rule(
        id="repository-not-found",
        pattern=text(
            r"\b(?:Repository|Revision|RemoteEntry|Entry)NotFoundError\b",
            r"\b(?:Repository|Revision|Entry) Not Found for url\b",
            r"\bnot a valid model identifier\b",
            r"\bdoes not appear to have a file named\b",
            r"\bHFValidationError\b",
            r"\bRepo id must (?:be|use|not)\b",
            r"\bIncorrect path_or_model_id\b",
            r"\bNotASafetensorsRepoError\b",
            r"\bis not a valid (?:git identifier|repo)\b",
        ),
        kind=Kind.MODEL_MISSING,
        says="The hub has no such model",
        origin="hub, transformers",
    ),
    Rule(
        id="download-refused",
        pattern=text(
            r"\b(?:download|fetch|access|pull|resolve|retrieve)\w*\b[^\n]{0,300}?(?<!line )(?<!:)\b(?:401|403)\b",
        ),
        kind=Kind.AUTH,
        says="The hub refused access to the model",
        origin="hub",
    ),
    Rule(
        id="download-not-found",
        pattern=text(
            r"\b(?:failed to|error|cannot|could not|couldn't) (?:download|fetch|access|pull|resolve|retrieve)\w*\b"
            r"[^\n]{0,300}?(?<!line )(?<!:)\b404\b",
        ),
        kind=Kind.MODEL_MISSING,
        says="The hub has no such model",
        origin="hub",
    ),
    Rule(
        id="hub-unreachable",
        pattern=text(
            r"\bLocalEntryNotFoundError\b",
            r"\bOfflineModeIsEnabled\b",
            r"\boffline mode is enabled\b",
            r"""\bcouldn't connect to ['\"]?https?:""",
            r"\boutgoing traffic has been disabled\b",
            r"\bcheck your (?:internet|network) connection\b",
            r"\bMax retries exceeded with url\b",
            r"\bfailure in name resolution\b",
            r"\bName or service not known\b",
            r"\bnodename nor servname\b",
            r"\bcould ?n[o']t resolve host\b",
            r"\bgetaddrinfo failed\b",
            r"\bFailed to resolve\b",
            r"\bNameResolutionError\b",
            r"\bno such host\b",
            r"\bProxyError\b",
            r"\bCERTIFICATE_VERIFY_FAILED\b",
            r"\bSSLError\b",
            r"\bSSLEOFError\b",
            r"\b(?:Connect|Read)Timeout(?:Error)?\b",
            r"\bRead timed out\b",
            r"\bTLS handshake timeout\b",
            r"\bi/o timeout\b",
            r"\bError while downloading from\b",
            r"\bChunkedEncodingError\b",
            r"\bIncompleteRead\b",
            r"\bRemoteProtocolError\b",
            r"\bRemoteDisconnected\b",
            r"\bhttpx?2?\.(?:Connect|Network|Read)Error\b",
            r"\bClientConnector\w*Error\b",
            r"\berror sending request for url\b",
            r"\bpull model manifest: (?!file does not exist)",
            r"\b(?:cannot|could not|unable to) (?:reach|connect to) (?:the )?(?:hub|hugging ?face)\b",
        ),
        kind=Kind.HUB_UNREACHABLE,
        says="The hub could not be reached",
        origin="hub, requests, httpx, curl, ollama",
        # Downloads are tried again and caches stand in: what comes with a name of its own counts first.
        weight=Weight.GENERAL,
    ),
    Rule(
        id="http-server-error",
        pattern=text(
            r"\b(?:5\d\d) Server Error\b",
            r"\b(?:502 Bad Gateway|503 Service (?:Temporarily )?Unavailable|504 Gateway Time-?out)\b",
            r"\bServer Error: (?:Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\b",
            r"\b429 (?:Client Error|Too Many Requests)\b",
            r"\bClient Error: Too Many Requests\b",
            r"\b(?:failed to |error |cannot )(?:download|fetch|access|pull)\w*\b[^\n]{0,200}?\b(?:429|50[0234])\b",
        ),
        kind=Kind.HUB_UNREACHABLE,
        says="The hub answered with an error of its own",
        origin="hub",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="http-refused",
        pattern=text(
            r"\b40[13] Client Error\b",
            r"\b401 Unauthorized\b",
            r"\b403 Forbidden\b",
            r"\bClient Error: (?:Unauthorized|Forbidden)\b",
        ),
        kind=Kind.AUTH,
        says="The hub refused access to the model",
        origin="hub",
        # A repository that does not exist is answered like this too, and is then named in a line of its own.
        weight=Weight.GENERAL,
    ),
    Rule(
        id="http-not-found",
        pattern=text(
            r"\b404 Client Error\b",
            r"\bClient Error: Not Found\b",
        ),
        kind=Kind.MODEL_MISSING,
        says="The hub has no such file",
        origin="hub",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="model-files-missing",
        pattern=text(
            r"\bNo safetensors found\b",
            r"\bpull model manifest: file does not exist\b",
            r"\bFileNotFoundError\b.{0,300}(?:safetensors|config\.json|tokenizer|\.gguf|\.npz|model|weight|checkpoint)",
            r"\b(?:failed|unable) to open\b.{0,200}\bNo such file or directory\b",
            r"\bfailed to open (?:GGUF|model)\b",
            r"""\bmodel ['\"]?[\w./:-]{1,120}['\"]? not found\b""",
            r"\b(?:model|weights?|checkpoint|tokenizer|GGUF)\b(?: (?:file|path|directory|folder))?:? .{0,200}"
            r"\b(?:does not exist|not found|No such file)\b",
            r"\bError no file named\b",
            r"\bCannot find (?:any )?(?:model|weights?|checkpoints?)\b",
            r"\bNo (?:model|weights?) files? (?:was |were )?found\b",
            r"\bno such model\b",
        ),
        kind=Kind.MODEL_MISSING,
        says="The model's files are not there",
        origin="mlx-lm, transformers, llama.cpp, ollama",
    ),
    Rule(
        id="file-not-found-in-load",
        pattern=text(r"\bFileNotFoundError\b"),
        kind=Kind.MODEL_MISSING,
        certainty=_PROBABLE,
        says="A file that the load needs is not there",
        origin="python",
        weight=Weight.GENERAL,
        phases=frozenset({Phase.LOAD}),
    ),
    Rule(
        id="json-in-load",
        pattern=text(r"\bJSONDecodeError\b"),
        kind=Kind.MODEL_INVALID,
        certainty=_PROBABLE,
        says="A file that describes the model is no JSON",
        origin="python",
        weight=Weight.GENERAL,
        phases=frozenset({Phase.LOAD}),
    ),
    Rule(
        id="mlx-read",
        pattern=text(
            r"\[read\] Unable to read\b",
        ),
        kind=Kind.MODEL_INVALID,
        says="A model file ended too early or could not be read",
        origin="mlx",
        or_memory=True,
    ),
    Rule(
        id="model-unsupported",
        pattern=text(
            r"""\bModel type ['\"]?[\w.-]+['\"]? (?:is )?not supported\b""",
            r"""\bNo module named ['\"](?:mlx_\w+|mlx_lm|vllm|transformers)\.models\.""",
            r"\bunknown model architecture\b",
            r"\bModel architectures? .{0,120}\bfailed to be inspected\b",
            r"\bUnsupported (?:model|architecture)\b",
            r"\bdoes not recognize this architecture\b",
            r"\bUnrecognized (?:model|configuration class)\b",
            r"\bModel architectures? .{0,120}\bnot supported\b",
            r"\bunknown pre-tokenizer type\b",
            r"""\barchitecture ['\"]?[\w.-]+['\"]? (?:is )?not supported\b""",
            r"\bunsupported (?:[\w-]+ )?(?:file |quant\w* )(?:format|version|method|type)\b",
            r"\bunsupported (?:compressed-tensors|modelopt|GGUF) \w+\b",
            r"\bUnknown quantization (?:method|type)\b",
            r"\bTokenizer class \w+ does not exist\b",
            r"\bcontains custom code which must be executed\b",
            r"\brequires you to execute\b",
            r"\bcannot infer the quantization mode\b",
        ),
        kind=Kind.MODEL_INVALID,
        says="The model is of a kind that is not supported",
        origin="mlx-lm, llama.cpp, transformers, vllm",
    ),
    Rule(
        id="model-damaged",
        pattern=text(
            r"\[load(?:_safetensors|_gguf|_npy|_npz)?\]",
            r"\bSafetensorError\b",
            r"\bSafetensorsParsingError\b",
            r"\bInvalid json header\b",
            r"\bHeaderTooLarge\b",
            r"\bHeaderTooSmall\b",
            r"\bMetadataIncompleteBuffer\b",
            r"\bInvalidHeader\w*",
            r"\bincomplete metadata\b",
            r"\bError while deserializing\b",
            r"\b(?:bad|invalid|wrong) (?:gguf |ggml |file |model )?magic\b",
            r"\binvalid magic (?:characters|number)\b",
            r"\bnot a (?:valid )?(?:GGUF|GGML|safetensors) file\b",
            r"\breally a (?:GGUF|GGML) file\b",
            r"""\btensor ['\"]?[\w.]+['\"]? (?:not found|is missing|has wrong shape|data is not within)\b""",
            r"\bmissing tensor\b",
            r"\bwrong number of tensors\b",
            r"\bhas wrong shape\b",
            r"\bis corrupted or incomplete\b",
            r"\bunexpectedly reached end of file\b",
            r"\bunexpected (?:end of file|EOF)\b",
            r"\bPytorchStreamReader failed\b",
            r"\binvalid load key\b",
            r"\bUnpicklingError\b",
            r"\bMissing \d+ parameters\b",
            r"\bReceived \d+ parameters not in model\b",
            r"\bExpected shape\b.{0,80}\bbut received shape\b",
            r"\bsize mismatch for\b",
            r"\bloading state_dict\b",
            r"\bdigest mismatch\b",
            r"\bchecksum mismatch\b",
            r"\bConsistency check failed\b",
            r"\bhas no weights for layers\b",
            r"\bdata did not match any variant\b",
            r"\buntagged enum ModelWrapper\b",
            r"\binvalid model file\b",
            r"\berror loading model: (?:error loading model )?(?:hyperparameters|vocabulary|architecture)\b",
            r"\bkey not found in model\b",
            r"\bgguf_init_from_\w+: (?:invalid|failed to read)\b",
            r"\bfailed to read (?:tensor|magic|key-value|header)\b",
            r"\bFailed to parse (?:tokenizer|config)\b",
            r"\bread error: \b",
        ),
        kind=Kind.MODEL_INVALID,
        says="The model's files are damaged or do not fit each other",
        origin="mlx, mlx-lm, safetensors, llama.cpp, pytorch, tokenizers, hub",
    ),
)

_IMPORTS: tuple[Rule, ...] = (
    Rule(
        id="import",
        pattern=text(
            r"\bModuleNotFoundError\b",
            r"\bImportError\b",
            r"\bNo module named\b",
            r"\bLibrary not loaded: ",
            r"\bSymbol not found: ",
            r"\bcannot open shared object file\b",
            r"\bundefined symbol: ",
            r"\berror while loading shared libraries\b",
            r"\bDLL load failed\b",
            r"\b(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+['`]? not found\b",
            r"\bincompatible architecture \(have\b",
            r"\bPackageNotFoundError\b",
            r"\bDistributionNotFound\b",
            r"\bmultiarray failed to import\b",
            r"\bFailed to load (?:the )?default metallib\b",
            r"\bcompiled using NumPy 1\.x cannot be run\b",
            r"\bmach-o, but wrong architecture\b",
        ),
        kind=Kind.IMPORT_ERROR,
        says="A package or library could not be imported",
        origin="python, dynamic linker, mlx",
        # Optional packages are missed aloud by programs that go on without them.
        weight=Weight.GENERAL,
    ),
    Rule(
        id="avx-missing",
        pattern=text(
            r"\bcompiled to use (?:AVX|SSE|FMA)\w*\b.{0,80}\baren't available\b",
            r"\billegal (?:hardware )?instruction\b",
            r"\btrap invalid opcode\b",
            r"\bSIGILL\b",
            r"\bCPU does not support (?:AVX|SSE|FMA)",
            r"\bEXC_BAD_INSTRUCTION\b",
        ),
        kind=Kind.ILLEGAL_INSTRUCTION,
        says="The build uses instructions that this processor does not have",
        origin="kernel, tensorflow, ollama",
        weight=Weight.GENERAL,
    ),
)

_PEERS: tuple[Rule, ...] = (
    Rule(
        id="collective",
        pattern=text(
            r"\bWatchdog caught collective operation timeout\b",
            r"\bProcessGroup(?:NCCL|Gloo|MPI)\b.{0,200}\b(?:timeout|exception|error|abort\w*)\b",
            r"\bNCCL (?:error|failure|timeout)\b",
            r"\bNCCL WARN\b",
            r"\bnccl(?:System|Remote|Internal|UnhandledCuda|InvalidUsage|InvalidArgument)Error\b",
            r"\b(?:DistBackend|DistNetwork|DistStore|Rendezvous\w+)Error\b",
            r"\bConnection closed by peer \[",
            r"\bgloo\b.{0,120}\b(?:timed? ?out|refused|closed|failed|error)\b",
            r"\bclient socket has timed out\b",
            r"\bTCPStore\b.{0,120}\b(?:timed? ?out|failed|error|refused)\b",
            r"\bcollective operation timeout\b",
            r"\bfailed to connect to all addresses\b",
            r"\bFailed to connect to GCS\b",
            r"\bUCX\s+ERROR\b",
            r"\bMPI_ABORT\b",
            r"\bMPI_ERR\w*\b",
            r"\bPMIX? ERROR\b",
            r"\bNVLink error\b",
            r"\bno route to host\b",
            r"\bnetwork is unreachable\b",
        ),
        kind=Kind.TRANSPORT,
        says="The link to the other processes of the group failed",
        origin="nccl, gloo, pytorch, mpi, ucx, ray",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="connection-lost",
        pattern=text(
            r"\bConnection(?:Reset|Refused|Aborted)Error\b",
            r"\bconnection reset by peer\b",
            r"\bconnection refused\b",
            r"\bpeer (?:disconnected|closed|gone)\b",
        ),
        kind=Kind.TRANSPORT,
        certainty=_PROBABLE,
        says="A connection to another process was lost",
        origin="operating system, python",
        weight=Weight.CONSEQUENCE,
    ),
)

_ENDS: tuple[Rule, ...] = (
    Rule(
        id="request-to-end",
        pattern=text(
            r"\b(?:received|got|caught|handling|sending|sent)\b.{0,30}\b(?:SIGTERM|signal:? 15|signal: terminated)\b",
            r"\b(?:received|got|caught)\b.{0,30}\bterminat(?:e|ion) signal\b",
            r"\bSIGTERM (?:was )?(?:received|caught|detected)\b",
            r"\bSignal 15 \(SIGTERM\)",
            r"\bsignal handler called with signal 15\b",
            r"\bKeyboardInterrupt: .{0,60}\bterminated\b",
        ),
        kind=Kind.KILLED_EXTERNALLY,
        says="Something outside asked the process to end (SIGTERM)",
        origin="vllm, pytorch, uvicorn, ray, ollama",
        level=Level.QUIET,
    ),
    Rule(
        id="watchdog-kill",
        pattern=text(
            r"\bWORKER TIMEOUT\b",
            r"\b(?:killed|terminated) by (?:the )?(?:user|operator|administrator|watchdog|scheduler|supervisor)\b",
            r"\bLiveness probe failed\b.{0,80}\b(?:restarted|killed)\b",
            r"\bfailed liveness probe\b",
            r"\bafter SIGTERM\. Sending SIGKILL\b",
            r"\bstop-sigterm' timed out\b",
            r"\bDUE TO TIME LIMIT\b",
            r"\bCANCELLED AT\b",
            r"\bscancel\b",
            r"\bpreempt(?:ed|ion) (?:notice|signal|by)\b",
        ),
        kind=Kind.KILLED_EXTERNALLY,
        says="Something outside ended the process, and says so",
        origin="gunicorn, kubernetes, slurm",
    ),
    Rule(
        id="interrupt",
        pattern=text(
            r"\bKeyboardInterrupt\b",
            r"\b(?:received|got|caught)\b.{0,20}\b(?:SIGINT|SIGHUP|signal:? 2|signal: interrupt)\b",
            r"\b(?:received|got|caught)\b.{0,20}\b(?:interrupt signal|keyboard interrupt)\b",
            r"\bSIGINT (?:received|caught)\b",
            r"\binterrupted by (?:the )?user\b",
            r"\bCtrl[-+]C (?:received|pressed|caught)\b",
            r"^\^C",
        ),
        kind=Kind.INTERRUPTED,
        says="It was interrupted from the keyboard",
        origin="python, uvicorn, llama.cpp",
        level=Level.QUIET,
    ),
    Rule(
        id="runner-start-timeout",
        pattern=text(
            r"\btimed out waiting for llama runner to start\b",
            r"\bload(?:ing)? (?:the )?model timed out\b",
            r"\bmodel load(?:ing)? timed out\b",
        ),
        kind=Kind.LOAD_TIMEOUT,
        certainty=_PROBABLE,
        says="The model was not loaded in time",
        origin="ollama",
        weight=Weight.GENERAL,
    ),
)

_CHECKS: tuple[Rule, ...] = (
    Rule(
        id="assertion",
        pattern=text(
            r"\bGGML_(?:ASSERT|ABORT)\b",
            r"\bAssertion\b.{0,300}\bfailed\b",
            r"\bassertion failed\b",
            r"\bINTERNAL ASSERT FAILED\b",
            r"\bCheck failed: ",
            r"\bpanic: (?!runtime error: invalid memory address)",
            r"\bpanicked at\b",
            r"\bfailed assertion\b",
            r"\b_?(?:debug_)?assert\w*_fail\b",
            r"\bnot enough space in the (?:buffer|context)\b",
            r"\bDCHECK failed\b",
            r"\bfatal error: .{0,200}: file .{0,200}, line \d+",
        ),
        kind=Kind.ASSERTION,
        says="A check inside a library failed",
        origin="llama.cpp, glibc, pytorch, tensorflow, go, rust, metal, swift",
        weight=Weight.GENERAL,
    ),
    Rule(
        id="heap-check",
        pattern=text(
            r"\bdouble free or corruption\b",
            r"\bfree\(\): invalid\b",
            r"\bmalloc\(\): ",
            r"\bcorrupted (?:size|top size|double-linked list)\b",
            r"\bmunmap_chunk\(\): ",
            r"\bstack smashing detected\b",
            r"\bpointer being freed was not allocated\b",
            r"\bheap corruption\b",
            r"\bpure virtual method called\b",
        ),
        kind=Kind.ASSERTION,
        certainty=_PROBABLE,
        says="The C library found its heap damaged",
        origin="glibc, macos malloc",
        weight=Weight.CONSEQUENCE,
    ),
    Rule(
        id="python-assertion",
        pattern=exact(
            r"(?:^|[\s\]|])AssertionError\b",
        ),
        kind=Kind.ASSERTION,
        says="A check in Python code failed",
        origin="python",
        weight=Weight.CONSEQUENCE,
    ),
    Rule(
        id="metal-command-buffer",
        pattern=text(
            r"\bcommand buffer \d+ failed with status\b",
            r"\[METAL\] Command buffer execution failed\b",
        ),
        kind=Kind.GPU_FAULT,
        certainty=_PROBABLE,
        says="Metal did not carry out a command buffer",
        origin="llama.cpp, mlx",
        weight=Weight.CONSEQUENCE,
    ),
    Rule(
        id="device-call",
        pattern=text(
            r"\b(?:CUDA|HIP|ROCm|cuBLAS|cuDNN|MLX|Vulkan) error\b",
            r"\b(?:CUBLAS|CUDNN)_STATUS_\w+",
        ),
        kind=Kind.PYTHON_EXCEPTION,
        certainty=_PROBABLE,
        says="A call into the GPU's library was refused",
        origin="cuda, rocm, mlx",
        weight=Weight.CONSEQUENCE,
    ),
    Rule(
        id="model-not-loaded",
        pattern=text(
            r"\b(?:error loading|failed to load|unable to load) (?:the )?(?:model|weights|checkpoint)\b",
        ),
        kind=Kind.MODEL_INVALID,
        certainty=_PROBABLE,
        says="The model could not be loaded",
        origin="llama.cpp, transformers",
        weight=Weight.CONSEQUENCE,
        phases=frozenset({Phase.START, Phase.LOAD, Phase.UNKNOWN}),
    ),
    Rule(
        id="uncaught-c++",
        pattern=text(
            r"\bterminating (?:due to|with) uncaught exception\b",
            r"\bterminate called after throwing\b",
            r"\bterminate called without\b",
        ),
        kind=Kind.PYTHON_EXCEPTION,
        certainty=_PROBABLE,
        says="An exception of a native library was not caught",
        origin="c++ library",
        weight=Weight.CONSEQUENCE,
    ),
    Rule(
        id="python-exception",
        pattern=exact(
            r"(?:^|[\s\]|)])(?:[a-zA-Z_][\w.]{0,120}\.)?[A-Z]\w{0,80}(?:Error|Exception|Failure|Exit)(?:: |$|\()",
            r"^Traceback \(most recent call last\)",
        ),
        kind=Kind.PYTHON_EXCEPTION,
        says="An exception ended it",
        origin="python",
        weight=Weight.CONSEQUENCE,
    ),
)

RULES: tuple[Rule, ...] = (
    *_LINKS,
    *_PORTS,
    *_SPECIAL_LIMITS,
    *_MEMORY,
    *_GPU,
    *_LIMITS,
    *_MODELS,
    *_IMPORTS,
    *_PEERS,
    *_ENDS,
    *_CHECKS,
)
"""The whole table in the order in which a line is compared."""

SIGNAL_TEXTS: tuple[SignalText, ...] = (
    SignalText(
        id="torchrun-rank",
        pattern=text(r"\bfailed \(exit ?code: -(?P<number>\d{1,4})\)"),
        origin="torchrun",
    ),
    SignalText(
        id="negative-status",
        pattern=text(
            r"\bexit(?:ed)?(?: with)? ?(?:code|status)?[:= ]\s?-(?P<number>[2-9]|[1-6]\d)\b",
            r"\bSignals\.(?P<name>SIG[A-Z]+)\b",
        ),
        origin="python subprocess and multiprocessing",
    ),
    SignalText(
        id="shell-status",
        pattern=text(
            r"\b(?:exit(?:ed)?|return(?:ed)?)(?: with)? ?(?:code|status)?[:=]?\s{0,12}(?P<status>1(?:29|3\d|4[0-3]))\b",
            r"\bcode=exited, status=(?P<systemd>1(?:29|3\d|4[0-3]))\b",
        ),
        origin="shell, docker, kubernetes",
    ),
    SignalText(
        id="segmentation-fault",
        pattern=text(
            r"\bsegmentation (?:fault|violation)\b",
            r"\bSIGSEGV\b",
            r"\bsegfault(?:ed| at| encountered)\b",
            r"\bEXC_BAD_ACCESS\b",
            r"\bSTATUS_ACCESS_VIOLATION\b",
            r"\baccess violation\b",
            r"\b0xc0000005\b",
            r"\bunexpected fault address\b",
            r"\binvalid memory address or nil pointer\b",
        ),
        signal=signal.SIGSEGV,
        origin="shell, faulthandler, pytorch, ollama, windows, kernel log",
    ),
    SignalText(
        id="bus-error",
        pattern=text(
            r"\bBus error\b",
            r"\bSIGBUS\b",
        ),
        signal=signal.SIGBUS,
        origin="shell, faulthandler",
    ),
    SignalText(
        id="killed",
        pattern=exact(
            r"^\s{0,20}(?:\S{1,120} ?(?:line )?\d{1,9}: {1,20}\d{1,9} )?Killed(?:: 9)?(?: {2,}.*)?$",
            r"\b[Kk]illed: 9\b",
            r"\bis killed by signal: Killed\b",
            r"\b(?:zsh|bash|sh): killed\b",
            r"\bcode=killed, status=9",
            r"\bstatus=9/KILL\b",
        ),
        signal=signal.SIGKILL,
        origin="shell, systemd, pytorch",
    ),
    SignalText(
        id="sigkill",
        pattern=text(
            r"\b(?:sent|received|by|with|from|to|due|died|exited|killed)\b.{0,40}\b(?:SIGKILL|signal[ =]9)\b",
            r"\bsignal: killed\b",
        ),
        signal=signal.SIGKILL,
        origin="gunicorn, torchrun, ollama, ray",
    ),
    SignalText(
        id="terminated",
        pattern=exact(
            r"^\s{0,20}(?:\S{1,120} ?(?:line )?\d{1,9}: {1,20}\d{1,9} )?Terminated(?:: 15)?(?: {2,}.*)?$",
            r"\bzsh: terminated\b",
            r"\bsignal: terminated\b",
            r"\bstatus=15/TERM\b",
        ),
        signal=signal.SIGTERM,
        origin="shell, systemd, ollama",
    ),
    SignalText(
        id="aborted",
        pattern=exact(
            r"^\s*Aborted(?: \(core dumped\))?\s*$",
            r"\bFatal Python error: Aborted\b",
            r"\bsignal: aborted\b",
            r"\bSIGABRT\b",
            r"\bzsh: abort\b",
            r"\bAbort trap: 6\b",
        ),
        signal=signal.SIGABRT,
        origin="shell, faulthandler, ollama",
    ),
)

SHUTDOWN_TEXT = text(
    r"\bShutting down\b",
    r"\bshutdown complete\b",
    r"\bFinished server process\b",
    r"\b(?:graceful|clean) (?:exit|shutdown)\b",
    r"\bexit(?:ed|ing) (?:cleanly|gracefully|normally)\b",
    r"\bserver (?:stopped|closed)\b",
    r"\bcleaning up before exit\b",
)
"""An orderly end, from uvicorn, vLLM and llama.cpp. It counts only where nothing else is known."""
