"""What MLX says about the device that it computes on. Imports mlx, so only an engine may import this module."""

import mlx.core as mx

from runner.worker import memory


def describe() -> str:
    """Name the default device, ``gpu (Apple M3)`` for example."""
    kind = "gpu" if mx.default_device().type == mx.DeviceType.gpu else "cpu"
    name = mx.device_info().get("device_name")
    return f"{kind} ({name})" if name else kind


def headroom() -> int | None:
    """Bytes that MLX may still take, or ``None`` if nothing tells. What MLX freed and kept for itself counts as free."""
    left = memory.headroom()
    working_set = mx.device_info().get("max_recommended_working_set_size")
    if working_set is not None:
        of_device = int(working_set) - mx.get_active_memory()
        return max(0, of_device if left is None else min(left, of_device))
    return None if left is None else left + mx.get_cache_memory()
