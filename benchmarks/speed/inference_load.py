"""Run by inference.py in a process of its own: time to load a model, and the memory it takes."""

import json
import resource
import sys
import time
from pathlib import Path

NUM_SENTENCES = 256


def main(path: str) -> None:
    facts: dict[str, float] = {}
    started = time.perf_counter()
    from elmokit import load
    from elmokit.embed.sample_sentences import SAMPLE_SENTENCES

    facts["import_seconds"] = _lap(started)
    started = time.perf_counter()
    elmo = load(path)
    facts["load_seconds"] = _lap(started)
    started = time.perf_counter()
    elmo.embed([["Apple", "sells", "phones", "."]])
    facts["first_sentence_seconds"] = _lap(started)
    facts["loaded_megabytes"] = _peak_megabytes()
    elmo.embed((list(SAMPLE_SENTENCES) * NUM_SENTENCES)[:NUM_SENTENCES])
    facts["embedded_megabytes"] = _peak_megabytes()
    print(json.dumps(facts))


def _lap(started: float) -> float:
    return time.perf_counter() - started


def _peak_megabytes() -> float:
    """Of this process alone; getrusage would remember the parent that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main(sys.argv[1])
