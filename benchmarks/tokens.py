"""Tokens a second, supervised against mlx-lm alone in one process: the same model, prompt and length, taken in turns."""

import json
import statistics
import subprocess
import sys
import time

from benchmarks.figure import Figure
from runner import RunnerSupervisor
from runner.models import resolve

PROMPT = "Write a story about a lighthouse."
TOKENS = 120
ROUNDS = 5

ALONE = """
import json, sys, time
from mlx_lm import load, stream_generate
model, tokenizer = load(sys.argv[1])
prompt = tokenizer.apply_chat_template([{"role": "user", "content": sys.argv[2]}], add_generation_prompt=True)
for line in sys.stdin:
    start = None
    count = 0
    for piece in stream_generate(model, tokenizer, prompt, max_tokens=int(sys.argv[3])):
        count = piece.generation_tokens
        start = start or time.perf_counter()
    print(json.dumps((count - 1) / (time.perf_counter() - start)), flush=True)
"""
"""Tokens a second after the first one."""


async def supervised(runner: RunnerSupervisor) -> float:
    """Tokens a second after the first chunk."""
    count, start = 0, 0.0
    async with runner.generate(PROMPT, max_tokens=TOKENS) as answer:
        async for chunk in answer:
            if start:
                count += chunk.tokens
            else:
                start = time.perf_counter()
    return count / (time.perf_counter() - start)


async def measure(model: str = "smollm2") -> list[Figure]:
    """Rounds in turns, so that whatever the machine does meanwhile hits both."""
    directory = str(await resolve(model))
    ours: list[float] = []
    alone: list[float] = []
    command = [sys.executable, "-c", ALONE, directory, PROMPT, str(TOKENS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220
        assert process.stdin is not None
        assert process.stdout is not None
        async with RunnerSupervisor(model) as runner:
            await runner.load()
            for number in range(ROUNDS + 1):
                process.stdin.write("go\n")
                process.stdin.flush()
                there = json.loads(process.stdout.readline())
                here = await supervised(runner)
                # The first round warms both up.
                if number:
                    alone.append(there)
                    ours.append(here)
        process.stdin.close()
    ratio = statistics.median(mine / theirs for mine, theirs in zip(ours, alone, strict=True))
    return [
        Figure(
            what=f"tokens a second on {model}, supervised over alone",
            ours=ratio,
            unit="",
            reference=1.0,
            reference_is="mlx-lm in one process",
            reach=0.98,
            better="higher",
            detail=f"{statistics.median(ours):.1f} /s supervised, {statistics.median(alone):.1f} /s alone",
        )
    ]
