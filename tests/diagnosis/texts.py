"""Logs of real programs with the kind that they prove. None is from the corpus; the tests in this folder read them.

A log is one text, its lines parted by newlines. Digits, paths and names are made up.
"""

from fsm.failure import Exit, Kind, Phase

OOM: tuple[str, ...] = (
    (
        "[METAL] Command buffer execution failed: Insufficient Memory "
        "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)"
    ),
    "RuntimeError: [metal::malloc] Unable to allocate 123 bytes.",
    "RuntimeError: [malloc] Unable to allocate 17179869184 bytes.",
    "MLX error: [METAL] Command buffer execution failed: Insufficient Memory",
    (
        "RuntimeError: MPS backend out of memory (MPS allocated: 9.0 GB, max allowed: 18.1 GB). Tried to "
        "allocate 2.0 GB."
    ),
    "RuntimeError: Invalid buffer size: 36.00 GB",
    "ggml_metal_buffer_init: error: failed to allocate buffer, size = 8192.00 MiB",
    (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.2 GiB. See documentation "
        "for PYTORCH_CUDA_ALLOC_CONF"
    ),
    ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.98 GiB"),
    "RuntimeError: CUDA error: out of memory",
    ("CUDA error: out of memory\nggml-cuda.cu:100: CUDA error"),
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
    "RuntimeError: HIP error: hipErrorOutOfMemory",
    "failed to allocate 2.20G (2362232012 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "ROCm error: out of memory",
    "ggml_cuda_pool_malloc: cudaMalloc failed: out of memory",
    "ggml_vulkan: Device memory allocation of size 1073741824 failed.",
    (
        "terminate called after throwing an instance of 'vk::OutOfDeviceMemoryError'\n"
        "  what():  vk::Device::allocateMemory: ErrorOutOfDeviceMemory"
    ),
    "VK_ERROR_OUT_OF_DEVICE_MEMORY: could not allocate the image",
    "ggml_vulkan: Requested buffer size (5368709120) exceeds device buffer size limit",
    "llama_model_load: error loading model: unable to allocate CUDA0 buffer",
    "llama_model_load: error loading model: unable to allocate backend buffer",
    "llama_kv_cache_init: failed to allocate buffer for kv cache",
    "llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers",
    "ggml_gallocr_reserve_n: failed to allocate ROCm0 buffer of size 18035509504",
    "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 137438953504",
    "ggml_aligned_malloc: insufficient memory (attempted to allocate 20480.00 MB)",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
    (
        "ValueError: To serve at least one request with the model's max seq len (131072), 16.00 GiB KV "
        "cache is needed, which is larger than the available KV cache memory (9.5 GiB)."
    ),
    (
        "ValueError: Free memory on device (3.1/24.0 GiB) on startup is less than desired GPU memory "
        "utilization (0.9, 21.6 GiB)."
    ),
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "Error: model requires more system memory (9.3 GiB) than is available (5.1 GiB)",
    ("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[64,512]"),
    (
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
        "allocate 8589934592 bytes."
    ),
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    ("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"),
    "MemoryError",
    ("numpy.exceptions._ArrayMemoryError: Unable to allocate 14.9 GiB for an array with shape (2000000000,)"),
    "OSError: [Errno 12] Cannot allocate memory",
    "RuntimeError: unable to mmap 4096 bytes from file <model.bin>: Cannot allocate memory (12)",
    "memory allocation of 8589934592 bytes failed",
    "fatal error: runtime: out of memory",
    "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    "OSError: The paging file is too small for this operation to complete. (os error 1455)",
    ("python(501,0x1f) malloc: *** can't allocate region:\n*** mach_vm_map(size=8589934592) failed (error code=3)"),
    "[12345.678] Out of memory: Killed process 4242 (python) total-vm:80000000kB, anon-rss:60000000kB",
    "Memory cgroup out of memory: Killed process 7 (python3) total-vm:1kB",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,task=python,pid=7",
    ("    Reason:       OOMKilled\n    Exit Code:    137"),
    "runner.service: A process of this unit has been killed by the OOM killer.",
    "runner.service: Failed with result 'oom-kill'.",
    (
        "kernel: memorystatus: killing_specific_process pid 77 [python3.11] (per-process-limit) - "
        "memorystatus_available_pages"
    ),
    "Termination Reason: Namespace JETSAM, Code 7 jetsam reason per-process-limit: memory",
    "Error: not enough GPU memory to load the model",
    "error: clCreateBuffer failed: CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    (":0:rocdevice.cpp: HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources."),
    "host:12:34 [0] transport.cc:100 NCCL WARN Cuda failure 2 'out of memory'",
    (
        "pydantic_core.ValidationError: 1 validation error\n"
        "Traceback (most recent call last):\n"
        "RuntimeError: cudaMalloc failed: out of memory"
    ),
    (
        "cudaMalloc failed: out of memory\n"
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for LoadResponse"
    ),
    "The process ran out of memory.",
    ("(EngineCore pid=9) ERROR 01-02 03:04:05 [core.py:7] RuntimeError: CUDA driver error: out of memory"),
    (
        'time=2025-01-01T00:00:00 level=INFO source=sched.go:1 msg="Load failed" error="cudaMalloc '
        'failed: out of memory"'
    ),
)
"""Logs that prove, with no exit known, that memory ran out."""

OTHER: tuple[tuple[str, Kind], ...] = (
    ("bloom filter built, zoom level 3, room 12, groom done", Kind.UNKNOWN),
    ("no oom detected", Kind.UNKNOWN),
    ("OOM protection enabled", Kind.UNKNOWN),
    ("0 OOM events", Kind.UNKNOWN),
    ("Out of memory budget check disabled", Kind.UNKNOWN),
    ("oom_score_adj set to 1000", Kind.UNKNOWN),
    ('"OOMKilled": false,', Kind.UNKNOWN),
    ("Set max_split_size_mb to avoid fragmentation and out of memory errors", Kind.UNKNOWN),
    ("Lower the batch size to avoid running out of memory", Kind.UNKNOWN),
    ("This configuration may run out of memory on small devices", Kind.UNKNOWN),
    ("The job did not run out of memory", Kind.UNKNOWN),
    ("INFO 01-01 00:00:00 [x.py:1] prompt: 'what does CUDA out of memory mean?'", Kind.UNKNOWN),
    ("DEBUG user asked about torch.OutOfMemoryError: CUDA out of memory", Kind.UNKNOWN),
    ("params: prompt='why is there an OOM error: CUDA out of memory'", Kind.UNKNOWN),
    ("WARNING: CUDA out of memory, falling back to CPU", Kind.UNKNOWN),
    ("CUDA out of memory, retrying with batch size 4", Kind.UNKNOWN),
    (("cudaMalloc failed: out of memory\nINFO falling back to unified memory"), Kind.UNKNOWN),
    ("ggml_cuda_host_malloc: failed to allocate 1024.00 MiB of pinned memory: out of memory", Kind.UNKNOWN),
    (
        ("warning: failed to mlock 73990144-byte buffer (after previously locking 0 bytes): Cannot allocate memory"),
        Kind.UNKNOWN,
    ),
    (
        ("W tensorflow/core/framework/cpu_allocator_impl.cc:83] Allocation of 1GB exceeds 10% of free system memory."),
        Kind.UNKNOWN,
    ),
    ("UserWarning: not enough memory for the large cache, the small one is used", Kind.UNKNOWN),
    (
        ("UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown"),
        Kind.UNKNOWN,
    ),
    ("[ERROR] Worker (pid:69686) was sent SIGKILL! Perhaps out of memory?", Kind.KILLED_EXTERNALLY),
    ("wasm trap: access out of memory bounds", Kind.UNKNOWN),
    (
        (
            "RuntimeError: [METAL] Command buffer execution failed: Caused GPU Timeout Error "
            "(00000002:kIOGPUCommandBufferCallbackErrorTimeout)"
        ),
        Kind.GPU_TIMEOUT,
    ),
    ("Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)", Kind.GPU_TIMEOUT),
    ("Internal Error (0000000e:Internal Error)", Kind.GPU_TIMEOUT),
    ("RuntimeError: CUDA error: the launch timed out and was terminated", Kind.GPU_TIMEOUT),
    ("HW Exception by GPU node-1 (Agent handle: 0x5) reason :GPU Hang", Kind.GPU_TIMEOUT),
    (
        ("Discarded (victim of GPU error/recovery) (00000005:kIOGPUCommandBufferCallbackErrorInnocentVictim)"),
        Kind.GPU_FAULT,
    ),
    ("RuntimeError: CUDA error: unspecified launch failure", Kind.GPU_FAULT),
    ("CUDA error: an illegal instruction was encountered", Kind.GPU_FAULT),
    ("NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.", Kind.GPU_FAULT),
    ("vk::Queue::submit: ErrorDeviceLost", Kind.GPU_FAULT),
    ("RuntimeError: CUDA error: uncorrectable ECC error encountered", Kind.GPU_FAULT),
    (("Connection closed by peer [10.0.0.2]:4242\nRuntimeError: [gloo] broken"), Kind.TRANSPORT),
    (
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1, remote process exited",
        Kind.TRANSPORT,
    ),
    ("RuntimeError: [ring] Recv failed with errno 54", Kind.TRANSPORT),
    ("[c10d] The client socket has timed out after 60s while trying to connect to (10.0.0.1, 29500).", Kind.TRANSPORT),
    ("NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory", Kind.TRANSPORT),
    ("ModuleNotFoundError: No module named 'mlx'", Kind.IMPORT_ERROR),
    ("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory", Kind.IMPORT_ERROR),
    (
        "python: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by libmlx.so)",
        Kind.IMPORT_ERROR,
    ),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/m/config.json'", Kind.MODEL_MISSING),
    (
        "OSError: foo/bar is not a local folder and is not a valid model identifier listed on 'the hub'",
        Kind.MODEL_MISSING,
    ),
    (
        (
            "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://x\n"
            "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error. Repository Not Found for url: "
            "https://x."
        ),
        Kind.MODEL_MISSING,
    ),
    ("gguf_init_from_file: failed to open GGUF file '/m/x.gguf'", Kind.MODEL_MISSING),
    ("Error: model 'llama9' not found, try pulling it first", Kind.MODEL_MISSING),
    (
        (
            "ModuleNotFoundError: No module named 'mlx_lm.models.foo'\n"
            "\n"
            "The above exception was the direct cause of the following exception:\n"
            "ValueError: Model type foo not supported."
        ),
        Kind.MODEL_INVALID,
    ),
    ("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge", Kind.MODEL_INVALID),
    (
        (
            "llama_model_load: error loading model: tensor 'blk.0.attn_q.weight' data is not within the file "
            "bounds, model is corrupted or incomplete"
        ),
        Kind.MODEL_INVALID,
    ),
    (
        ("RuntimeError: Error(s) in loading state_dict for Llama:\n\tsize mismatch for lm_head.weight"),
        Kind.MODEL_INVALID,
    ),
    (
        "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
        Kind.MODEL_INVALID,
    ),
    (
        (
            "ValueError: The checkpoint you are trying to load has model type `x` but Transformers does not "
            "recognize this architecture."
        ),
        Kind.MODEL_INVALID,
    ),
    (("ValueError: Received 3 parameters not in model: \nfoo."), Kind.MODEL_INVALID),
    ("huggingface_hub.errors.HfHubHTTPError: 403 Forbidden: Authorization error.", Kind.AUTH),
    ("OSError: Invalid user token.", Kind.AUTH),
    (
        (
            "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='x', port=443): Max retries exceeded "
            "with url: /y"
        ),
        Kind.HUB_UNREACHABLE,
    ),
    (
        "huggingface_hub.errors.HfHubHTTPError: 504 Server Error: Gateway Time-out for url: https://x",
        Kind.HUB_UNREACHABLE,
    ),
    (
        ("OSError: We couldn't connect to 'https://x' to load the files, and couldn't find them in the cached files."),
        Kind.HUB_UNREACHABLE,
    ),
    (
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://x: offline mode is enabled.",
        Kind.HUB_UNREACHABLE,
    ),
    ("Error: pull model manifest: dial tcp: lookup x: no such host", Kind.HUB_UNREACHABLE),
    ("RuntimeError: No CUDA GPUs are available", Kind.NO_DEVICE),
    ("RuntimeError: Found no NVIDIA driver on your system.", Kind.NO_DEVICE),
    ("AssertionError: Torch not compiled with CUDA enabled", Kind.NO_DEVICE),
    ("RuntimeError: Failed to infer device type", Kind.NO_DEVICE),
    ("RuntimeError: No Metal device found", Kind.NO_DEVICE),
    ("OSError: [Errno 122] Disk quota exceeded", Kind.DISK_FULL),
    ("Not enough free disk space to download the file.", Kind.DISK_FULL),
    (
        (
            "terminate called after throwing an instance of 'std::system_error'\n"
            "  what():  Resource temporarily unavailable"
        ),
        Kind.RESOURCE_LIMIT,
    ),
    (
        ("thread 'main' panicked at: ThreadPoolBuildError { kind: IOError(Resource temporarily unavailable) }"),
        Kind.RESOURCE_LIMIT,
    ),
    ("Error: ENOSPC: System limit for number of file watchers reached", Kind.RESOURCE_LIMIT),
    (
        (
            "RuntimeError: DataLoader worker is killed by signal: Bus error. It is possible that "
            "dataloader's workers are out of shared memory."
        ),
        Kind.RESOURCE_LIMIT,
    ),
    (
        ("RuntimeError: unable to open shared memory object </torch_1> in read-write mode: Too many open files (24)"),
        Kind.RESOURCE_LIMIT,
    ),
    (
        ("ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use"),
        Kind.PORT_IN_USE,
    ),
    ("Error: listen tcp 127.0.0.1:11434: bind: address already in use", Kind.PORT_IN_USE),
    ("start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080", Kind.PORT_IN_USE),
    (("python: foo.c:12: bar: Assertion `x > 0' failed.\nAborted (core dumped)"), Kind.ASSERTION),
    (("thread 'main' panicked at src/main.rs:3:5:\nindex out of bounds"), Kind.ASSERTION),
    ("RuntimeError: CUDA error: device-side assert triggered", Kind.ASSERTION),
    ("F0101 00:00:00.000000 1 cuda.cc:1] Check failed: a == b", Kind.ASSERTION),
    ("Illegal instruction (core dumped)", Kind.ILLEGAL_INSTRUCTION),
    ("traps: python[42] trap invalid opcode ip:7f", Kind.ILLEGAL_INSTRUCTION),
    ("Segmentation fault (core dumped)", Kind.SEGFAULT),
    ("!!!!!!! Segfault encountered !!!!!!!", Kind.SEGFAULT),
    ("Fatal Python error: Bus error", Kind.SEGFAULT),
    ("Error: llama runner process has terminated: signal: segmentation fault", Kind.SEGFAULT),
    ("KeyError: 'rope_scaling'", Kind.PYTHON_EXCEPTION),
    (
        (
            "Traceback (most recent call last):\n"
            '  File "/x/y.py", line 3, in f\n'
            '    raise RuntimeError("out of memory")\n'
            "TypeError: f() takes 1 positional argument"
        ),
        Kind.PYTHON_EXCEPTION,
    ),
    (
        (
            "INFO:     received signal 15\n"
            "(APIServer pid=1) ERROR 01-01 00:00:00 [a.py:1] vllm.v1.engine.exceptions.EngineDeadError: "
            "EngineCore encountered an issue."
        ),
        Kind.KILLED_EXTERNALLY,
    ),
    (
        (
            "W1 torch/distributed/elastic/agent: Received Signals.SIGTERM death signal, shutting down "
            "workers\n"
            "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15"
        ),
        Kind.KILLED_EXTERNALLY,
    ),
    (("^CTraceback (most recent call last):\nKeyboardInterrupt"), Kind.INTERRUPTED),
    (
        (
            "INFO:     Waiting for application shutdown.\n"
            "INFO:     Application shutdown complete.\n"
            "INFO:     Finished server process [7]"
        ),
        Kind.CLEAN_EXIT,
    ),
    (
        (
            "There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to "
            "high memory usage."
        ),
        Kind.UNKNOWN,
    ),
    (
        "Error: could not load: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)",
        Kind.TRANSPORT,
    ),
    ("Access to https://x/config.json was answered with 200 after 3 tries", Kind.UNKNOWN),
)
"""Logs that prove, with no exit known, something else, or nothing."""

ENDS: tuple[tuple[Kind, Exit, Phase, str], ...] = (
    (Kind.OOM, Exit(), Phase.LOAD, "error: failed to allocate Metal buffer of 5 GB"),
    (
        Kind.OOM,
        Exit(),
        Phase.PREFILL,
        (
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command "
            "buffer execution failed: Insufficient Memory "
            "(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n"
            "/opt/x/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked "
            "semaphore objects to clean up at shutdown\n"
            "  warnings.warn('resource_tracker: There appear to be %d '"
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        "Loading checkpoint shards:   0%|          | 0/2 [00:00<?, ?it/s]zsh: killed     python main.py",
    ),
    (
        Kind.KILLED_EXTERNALLY,
        Exit(signal=9),
        Phase.DECODE,
        'INFO:     127.0.0.1:4 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    ),
    (Kind.OOM, Exit(code=1), Phase.LOAD, "Error: llama runner process has terminated: signal: killed"),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        ("llama_new_context_with_model: failed to allocate compute buffers\nSegmentation fault (core dumped)"),
    ),
    (
        Kind.OOM,
        Exit(signal=11),
        Phase.LOAD,
        (
            "ggml_gallocr_reserve_n: failed to allocate CPU buffer of size 18035509504\n"
            "llama_init_from_gpt_params: error: failed to create context with model"
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        ("ggml_backend_metal_buffer_type_alloc_buffer: error: failed to allocate buffer, size =  4096.00 MiB"),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "llama_model_load: error loading model: failed to allocate buffer\n"
            "llama_load_model_from_file: failed to load model"
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:117] data. DefaultCPUAllocator: not enough memory: "
            "you tried to allocate 1234 bytes."
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.START,
        (
            "torch.AcceleratorError: CUDA error: out of memory\n"
            "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
            "below might be incorrect."
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "E1234 10:00:00 cuda_driver.cc:890] failed to alloc 8589934592 bytes on host: "
            "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "2024-01-01 10:00:00.1: W tensorflow/core/common_runtime/bfc_allocator.cc:497] Allocator "
            "(GPU_0_bfc) ran out of memory trying to allocate 1.2GiB\n"
            "2024-01-01 10:00:00.1: W tensorflow/core/framework/op_kernel.cc:1830] OP_REQUIRES failed at "
            "conv: RESOURCE_EXHAUSTED: failed to allocate memory"
        ),
    ),
    (
        Kind.OOM,
        Exit(code=1),
        Phase.WARMUP,
        (
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. "
            "Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine."
        ),
    ),
    (Kind.OOM, Exit(), Phase.LOAD, "fatal error: out of memory allocating 123 bytes after a total of 456 bytes"),
    (Kind.OOM, Exit(code=137), Phase.LOAD, ""),
    (Kind.KILLED_EXTERNALLY, Exit(code=137), Phase.DECODE, ""),
    (Kind.OOM, Exit(signal=9), Phase.WARMUP, ""),
    (Kind.OOM, Exit(), Phase.LOAD, "mmap: Cannot allocate memory"),
    (Kind.OOM, Exit(), Phase.LOAD, "error loading model: mmap failed: Cannot allocate memory"),
    (
        Kind.OOM,
        Exit(),
        Phase.DECODE,
        (
            "RuntimeError: [metal::malloc] Attempting to allocate 1 bytes which is greater than the maximum "
            "allowed buffer size of 2 bytes.###"
        ),
    ),
    (Kind.OOM, Exit(), Phase.DECODE, "ValueError: [malloc] Unable to allocate 9 bytes"),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "thread '<unnamed>' panicked at 'called `Result::unwrap()` on an `Err` value: "
            'Cuda(Cuda(DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")))\''
        ),
    ),
    (Kind.OOM, Exit(), Phase.LOAD, 'Error: DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")'),
    (
        Kind.OOM,
        Exit(),
        Phase.PREFILL,
        ("ERROR 01-01 00:00:00 engine.py:139] OutOfMemoryError('CUDA out of memory. Tried to allocate 2.00 GiB.')"),
    ),
    (Kind.OOM, Exit(), Phase.DECODE, "GPU memory exhausted: cannot allocate tensor"),
    (Kind.OOM, Exit(), Phase.LOAD, "Not enough memory: required 20 GB, available 8 GB"),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "load_backend: vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n"
            "llama_model_load: error loading model: unable to allocate Vulkan0 buffer"
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        ("[  231.1] python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0"),
    ),
    (
        Kind.OOM,
        Exit(signal=9),
        Phase.DECODE,
        "kernel: Out of memory: Killed process 99 (python3) total-vm:1kB, anon-rss:1kB, oom_score_adj:0",
    ),
    (Kind.SEGFAULT, Exit(signal=11), Phase.DECODE, "kernel: Out of memory: Killed process 99 (chrome) total-vm:1kB"),
    (
        Kind.GPU_TIMEOUT,
        Exit(signal=6),
        Phase.DECODE,
        (
            "libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command "
            "buffer execution failed: Caused GPU Timeout Error "
            "(00000002:kIOGPUCommandBufferCallbackErrorTimeout)"
        ),
    ),
    (
        Kind.GPU_TIMEOUT,
        Exit(),
        Phase.DECODE,
        (
            "Execution of the command buffer was aborted due to an error during execution. Caused GPU Hang "
            "Error (00000003:kIOGPUCommandBufferCallbackErrorHang)"
        ),
    ),
    (
        Kind.GPU_FAULT,
        Exit(),
        Phase.DECODE,
        (
            "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
            "terminate called after throwing an instance of 'c10::Error'"
        ),
    ),
    (
        Kind.GPU_FAULT,
        Exit(),
        Phase.DECODE,
        (
            "ROCm error: an illegal memory access was encountered\n"
            "  current device: 0, in function ggml_backend_cuda_synchronize"
        ),
    ),
    (Kind.GPU_FAULT, Exit(), Phase.DECODE, "cudaErrorIllegalAddress"),
    (
        Kind.GPU_FAULT,
        Exit(),
        Phase.DECODE,
        (
            ":0:rocdevice.cpp:2875: 1 us: HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a "
            "hardware exception. code: 0x1016"
        ),
    ),
    (Kind.RESOURCE_LIMIT, Exit(code=1), Phase.LOAD, "RuntimeError: [metal::malloc] Resource limit (499000) exceeded."),
    (Kind.RESOURCE_LIMIT, Exit(), Phase.START, "OpenBLAS blas_thread_init: RLIMIT_NPROC 4096 current, 8192 max"),
    (
        Kind.RESOURCE_LIMIT,
        Exit(),
        Phase.START,
        (
            "terminate called after throwing an instance of 'std::system_error'\n"
            "  what():  Resource temporarily unavailable\n"
            "Aborted (core dumped)"
        ),
    ),
    (Kind.RESOURCE_LIMIT, Exit(), Phase.START, "BlockingIOError: [Errno 11] Resource temporarily unavailable"),
    (Kind.RESOURCE_LIMIT, Exit(), Phase.LOAD, "OSError: [Errno 24] Too many open files"),
    (Kind.RESOURCE_LIMIT, Exit(), Phase.DECODE, "libgomp: Thread creation failed: Resource temporarily unavailable"),
    (
        Kind.TRANSPORT,
        Exit(),
        Phase.DECODE,
        ("[ring] Receiving from socket 51 failed with errno 54\n[ring] Too many send/recv errors. Aborting..."),
    ),
    (Kind.TRANSPORT, Exit(), Phase.START, "RuntimeError: [jaccl] Couldn't connect (error: 60)"),
    (
        Kind.TRANSPORT,
        Exit(),
        Phase.START,
        ("torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."),
    ),
    (
        Kind.TRANSPORT,
        Exit(),
        Phase.START,
        (
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer "
            "[127.0.1.1]:32453"
        ),
    ),
    (
        Kind.TRANSPORT,
        Exit(),
        Phase.START,
        (
            "RuntimeError: Gloo connectFullMesh failed with "
            "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error"
        ),
    ),
    (
        Kind.TRANSPORT,
        Exit(),
        Phase.DECODE,
        ("ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely."),
    ),
    (Kind.TRANSPORT, Exit(), Phase.START, "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"),
    (
        Kind.TRANSPORT,
        Exit(),
        Phase.START,
        ("ray.exceptions.RpcError: failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:6379"),
    ),
    (Kind.IMPORT_ERROR, Exit(code=1), Phase.START, "ImportError: cannot import name 'foo' from 'transformers'"),
    (
        Kind.IMPORT_ERROR,
        Exit(),
        Phase.START,
        (
            "OSError: dlopen(libmlx.dylib, 0x0006): tried: 'libmlx.dylib' (mach-o file, but is an "
            "incompatible architecture (have 'x86_64', need 'arm64'))"
        ),
    ),
    (
        Kind.IMPORT_ERROR,
        Exit(code=127),
        Phase.START,
        (
            "llama-server: error while loading shared libraries: libcudart.so.12: cannot open shared object "
            "file: No such file or directory"
        ),
    ),
    (
        Kind.IMPORT_ERROR,
        Exit(),
        Phase.START,
        (
            "dyld[123]: Library not loaded: @rpath/libllama.dylib\n"
            "  Referenced from: <X> /srv/app/llama-cli\n"
            "  Reason: tried: ..."
        ),
    ),
    (
        Kind.IMPORT_ERROR,
        Exit(),
        Phase.START,
        "RuntimeError: Failed to load the default metallib. This error may be caused by...",
    ),
    (Kind.MODEL_MISSING, Exit(code=1), Phase.LOAD, "FileNotFoundError: No safetensors found in foo"),
    (
        Kind.MODEL_MISSING,
        Exit(code=1),
        Phase.LOAD,
        "error: failed to open models/7B/ggml-model-q4_0.gguf: No such file or directory",
    ),
    (
        Kind.MODEL_MISSING,
        Exit(),
        Phase.LOAD,
        (
            "huggingface_hub.errors.EntryNotFoundError: 404 Client Error. (Request ID: Root=1)\n"
            "\n"
            "Entry Not Found for url: https://x/config.json."
        ),
    ),
    (
        Kind.MODEL_MISSING,
        Exit(),
        Phase.LOAD,
        (
            "OSError: mlx-community/foo does not appear to have a file named config.json. Checkout "
            "'https://x/tree/main' for available files."
        ),
    ),
    (
        Kind.MODEL_MISSING,
        Exit(),
        Phase.LOAD,
        ("Error: file does not exist\nError: pull model manifest: file does not exist"),
    ),
    (
        Kind.MODEL_MISSING,
        Exit(),
        Phase.LOAD,
        (
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
            "'namespace/repo_name': '/models/x'. Use `repo_type` argument if needed."
        ),
    ),
    (Kind.MODEL_INVALID, Exit(), Phase.LOAD, "gguf_init_from_file: invalid magic characters 'vers'"),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        "llama_model_load: error loading model: missing tensor 'token_embd.weight'",
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        "error loading model: done_getting_tensors: wrong number of tensors; expected 292, got 291",
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        ("ValueError: Model architectures ['Foo'] are not supported for now. Supported architectures: dict_keys(...)"),
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        ("ValueError: Model architectures ['Foo'] failed to be inspected. Please check the logs for more details."),
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        "ValueError: Unrecognized model in /x. Should have a `model_type` key in its config.json",
    ),
    (Kind.MODEL_INVALID, Exit(), Phase.LOAD, "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        (
            "OSError: Unable to load weights from pytorch checkpoint file for 'x' at 'y'. If you tried to "
            "load a PyTorch model from a TF 2.0 checkpoint, please set from_tf=True."
        ),
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        "ValueError: Expected shape (1, 2) but received shape (2, 3) for parameter lm_head.weight",
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        "Exception: data did not match any variant of untagged enum ModelWrapper at line 757281 column 3",
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        ("error loading model: unknown (magic, version) combination: 67676a74, 00000003; is this really a GGML file?"),
    ),
    (
        Kind.MODEL_INVALID,
        Exit(),
        Phase.LOAD,
        ("llama_model_load: error loading model: error loading model vocabulary: unknown pre-tokenizer type: 'x'"),
    ),
    (
        Kind.AUTH,
        Exit(code=1),
        Phase.LOAD,
        (
            "huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: x)\n"
            "\n"
            "Cannot access gated repo for url https://x."
        ),
    ),
    (Kind.AUTH, Exit(), Phase.LOAD, "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://x"),
    (Kind.AUTH, Exit(), Phase.LOAD, "Your request to access model x is awaiting a review from the repo authors."),
    (
        Kind.HUB_UNREACHABLE,
        Exit(),
        Phase.LOAD,
        (
            "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='x', port=443): "
            "Max retries exceeded with url: /y (Caused by NewConnectionError('<urllib3>: Failed to establish "
            "a new connection: [Errno 101] Network is unreachable'))\"), '(Request ID: 1)')"
        ),
    ),
    (
        Kind.HUB_UNREACHABLE,
        Exit(),
        Phase.LOAD,
        (
            "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the "
            "file on the Hub and we cannot find the requested files in the local cache."
        ),
    ),
    (
        Kind.HUB_UNREACHABLE,
        Exit(),
        Phase.LOAD,
        "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://x",
    ),
    (Kind.HUB_UNREACHABLE, Exit(), Phase.LOAD, "httpx.ConnectError: [Errno -3] Temporary failure in name resolution"),
    (
        Kind.HUB_UNREACHABLE,
        Exit(),
        Phase.LOAD,
        (
            "requests.exceptions.SSLError: HTTPSConnectionPool(host='x', port=443): [SSL: "
            "CERTIFICATE_VERIFY_FAILED] certificate verify failed"
        ),
    ),
    (Kind.HUB_UNREACHABLE, Exit(), Phase.LOAD, "ConnectionError: Couldn't reach https://x (ConnectTimeout)"),
    (
        Kind.NO_DEVICE,
        Exit(),
        Phase.START,
        (
            "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions "
            "before calling NumCudaDevices() that might have already set an error? Error 804: forward "
            "compatibility was attempted on non supported HW"
        ),
    ),
    (Kind.NO_DEVICE, Exit(), Phase.START, "RuntimeError: No HIP GPUs are available"),
    (
        Kind.NO_DEVICE,
        Exit(),
        Phase.START,
        ('docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].'),
    ),
    (Kind.NO_DEVICE, Exit(), Phase.START, "RuntimeError: [metal::Device] No device found"),
    (Kind.NO_DEVICE, Exit(), Phase.START, "ggml_metal_init: error: could not find a Metal device"),
    (
        Kind.DISK_FULL,
        Exit(code=1),
        Phase.LOAD,
        ("RuntimeError: Data processing error: CAS service error : IO Error: No space left on device (os error 28)"),
    ),
    (Kind.DISK_FULL, Exit(), Phase.LOAD, "write /root/.ollama/models/blobs/sha256-x: no space left on device"),
    (
        Kind.PORT_IN_USE,
        Exit(code=1),
        Phase.START,
        ("OSError: [Errno 48] error while attempting to bind on address ('127.0.0.1', 8080): address already in use"),
    ),
    (Kind.PORT_IN_USE, Exit(), Phase.START, "OSError: Cannot find empty port in range: 7860-7860."),
    (
        Kind.PORT_IN_USE,
        Exit(),
        Phase.START,
        (
            "RuntimeError: The server socket has failed to listen on any local network address. port: 29500, "
            "useIpv6: true, code: -98, name: EADDRINUSE, message: address already in use"
        ),
    ),
    (
        Kind.PORT_IN_USE,
        Exit(),
        Phase.START,
        (
            "OSError: [WinError 10048] Only one usage of each socket address (protocol/network address/port) "
            "is normally permitted"
        ),
    ),
    (
        Kind.PYTHON_EXCEPTION,
        Exit(code=1),
        Phase.PREFILL,
        (
            "Traceback (most recent call last):\n"
            '  File "x.py", line 1, in f\n'
            "    a\n"
            "ValueError: [broadcast_shapes] Shapes (1,2) and (3,4) cannot be broadcast."
        ),
    ),
    (
        Kind.PYTHON_EXCEPTION,
        Exit(),
        Phase.DECODE,
        ("jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/..."),
    ),
    (
        Kind.PYTHON_EXCEPTION,
        Exit(code=1),
        Phase.DECODE,
        (
            "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
            "cuda:0 and cpu!"
        ),
    ),
    (Kind.PYTHON_EXCEPTION, Exit(code=1), Phase.DECODE, "RuntimeError: CUDA error: invalid configuration argument"),
    (
        Kind.PYTHON_EXCEPTION,
        Exit(code=1),
        Phase.DECODE,
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0",
    ),
    (Kind.ASSERTION, Exit(signal=6), Phase.DECODE, ("GGML_ASSERT(n_tokens <= n_batch) failed\nAborted (core dumped)")),
    (
        Kind.ASSERTION,
        Exit(signal=6),
        Phase.DECODE,
        "llama.cpp: llama-batch.cpp:12: GGML_ASSERT(batch.n_tokens > 0) failed",
    ),
    (
        Kind.ASSERTION,
        Exit(signal=6),
        Phase.LOAD,
        (
            "-[AGXG16XFamilyCommandBuffer "
            "tryCoalescingPreviousComputeCommandEncoderWithConfig:nextEncoderClass:]:1094: failed assertion "
            "`A command encoder is already encoding to this command buffer'"
        ),
    ),
    (
        Kind.ASSERTION,
        Exit(),
        Phase.DECODE,
        (
            "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1255: indexSelectSmallIndex: block: [0,0,0], "
            "thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
            "RuntimeError: CUDA error: device-side assert triggered"
        ),
    ),
    (
        Kind.ASSERTION,
        Exit(code=2),
        Phase.DECODE,
        ("panic: runtime error: index out of range [1] with length 1\n\ngoroutine 1 [running]:"),
    ),
    (Kind.ILLEGAL_INSTRUCTION, Exit(signal=4), Phase.START, ""),
    (Kind.ILLEGAL_INSTRUCTION, Exit(code=132), Phase.START, ""),
    (Kind.ILLEGAL_INSTRUCTION, Exit(), Phase.START, "zsh: illegal hardware instruction  python main.py"),
    (Kind.SEGFAULT, Exit(code=139), Phase.DECODE, ""),
    (Kind.SEGFAULT, Exit(), Phase.DECODE, "zsh: segmentation fault  python main.py"),
    (Kind.SEGFAULT, Exit(), Phase.DECODE, "zsh: bus error  python main.py"),
    (Kind.SEGFAULT, Exit(code=2), Phase.DECODE, ("SIGSEGV: segmentation violation\nPC=0x0 m=0 sigcode=1")),
    (
        Kind.SEGFAULT,
        Exit(code=2),
        Phase.DECODE,
        (
            "panic: runtime error: invalid memory address or nil pointer dereference\n"
            "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x1]"
        ),
    ),
    (Kind.SEGFAULT, Exit(code=3221225477), Phase.LOAD, ""),
    (Kind.KILLED_EXTERNALLY, Exit(signal=15), Phase.DECODE, ""),
    (
        Kind.KILLED_EXTERNALLY,
        Exit(code=143),
        Phase.DECODE,
        ("ERROR EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."),
    ),
    (
        Kind.KILLED_EXTERNALLY,
        Exit(signal=15),
        Phase.DECODE,
        (
            "ERROR 01-01 00:00:00 [core.py:1] vllm.v1.engine.exceptions.EngineDeadError: EngineCore "
            "encountered an issue."
        ),
    ),
    (
        Kind.KILLED_EXTERNALLY,
        Exit(),
        Phase.DECODE,
        (
            "[2024] torch.distributed.elastic.agent.server.api: [WARNING] Received Signals.SIGTERM death "
            "signal, shutting down workers"
        ),
    ),
    (
        Kind.KILLED_EXTERNALLY,
        Exit(),
        Phase.DECODE,
        "slurmstepd: error: *** JOB 123 ON node1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.DECODE,
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch. Some of the step tasks have "
            "been OOM Killed."
        ),
    ),
    (
        Kind.OOM,
        Exit(),
        Phase.DECODE,
        (
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=123.batch cgroup. Some of your "
            "processes may have been killed by the cgroup out-of-memory handler."
        ),
    ),
    (Kind.INTERRUPTED, Exit(signal=2), Phase.DECODE, ""),
    (Kind.INTERRUPTED, Exit(code=130), Phase.DECODE, ""),
    (Kind.INTERRUPTED, Exit(signal=1), Phase.DECODE, ""),
    (
        Kind.INTERRUPTED,
        Exit(code=1),
        Phase.LOAD,
        ('Traceback (most recent call last):\n  File "x", line 1, in <module>\nKeyboardInterrupt'),
    ),
    (Kind.CLEAN_EXIT, Exit(code=0), Phase.DECODE, ""),
    (
        Kind.CLEAN_EXIT,
        Exit(code=0),
        Phase.DECODE,
        ("INFO:     Shutting down\nINFO:     Application shutdown complete."),
    ),
    (
        Kind.CLEAN_EXIT,
        Exit(),
        Phase.DECODE,
        (
            "INFO:     Shutting down\n"
            "INFO:     Waiting for application shutdown.\n"
            "INFO:     Application shutdown complete.\n"
            "INFO:     Finished server process [1]"
        ),
    ),
    (Kind.UNKNOWN, Exit(signal=6), Phase.DECODE, ""),
    (Kind.UNKNOWN, Exit(code=1), Phase.DECODE, ""),
    (Kind.UNKNOWN, Exit(), Phase.DECODE, "loading bloom weights"),
    (Kind.UNKNOWN, Exit(code=1), Phase.DECODE, "INFO Loaded bloom-7b in the living room"),
    (Kind.OOM, Exit(), Phase.LOAD, "RuntimeError: Unable to allocate memory for KV cache"),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that "
            "can be stored in KV cache (9000). Try increasing `gpu_memory_utilization` or decreasing "
            "`max_model_len` when initializing the engine."
        ),
    ),
    (Kind.OOM, Exit(), Phase.LOAD, "Exception: Insufficient VRAM to load model"),
    (Kind.OOM, Exit(), Phase.LOAD, "llama_kv_cache_unified: failed to allocate buffer for kv cache"),
    (Kind.OOM, Exit(), Phase.DECODE, "mlx.core.MetalOutOfMemory: device out of memory"),
    (Kind.OOM, Exit(), Phase.DECODE, "HIP out of memory. Tried to allocate 8 GiB"),
    (Kind.OOM, Exit(), Phase.DECODE, "RuntimeError: XPU out of memory. Tried to allocate 1 GiB"),
    (Kind.OOM, Exit(), Phase.DECODE, "RuntimeError: NPU out of memory. Tried to allocate 1 GiB"),
    (
        Kind.OOM,
        Exit(),
        Phase.LOAD,
        (
            "Traceback (most recent call last):\n"
            '  File "x", line 1, in f\n'
            "    x\n"
            "MemoryError\n"
            "\n"
            "During handling of the above exception, another exception occurred:\n"
            "\n"
            "Traceback (most recent call last):\n"
            "RuntimeError: worker failed to start"
        ),
    ),
    (Kind.PYTHON_EXCEPTION, Exit(code=1), Phase.LOAD, ("KeyError: 'model'\nINFO OOM protection enabled")),
    (Kind.UNKNOWN, Exit(code=1), Phase.DECODE, "INFO 0 oom events, no OOM"),
    (
        Kind.OOM,
        Exit(code=1),
        Phase.LOAD,
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    ),
    (
        Kind.UNKNOWN,
        Exit(code=1),
        Phase.DECODE,
        (
            "A worker died or was killed while executing a task by an unexpected system error. There are "
            "some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high "
            "memory usage. (2) ray stop --force is called. (3) The worker is crashed unexpectedly due to "
            "SIGSEGV or other unexpected errors."
        ),
    ),
)
"""Logs with what is known of the exit and the phase."""
