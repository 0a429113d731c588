"""Damage files of every kind for as long as you like, guided by coverage, and count what happens.

    python reliability/fuzz.py [--minutes 30] [--only NAME] [--seed 0] [--out FOLDER]

Each target of targets.py gets its share of the time in a process of its own, so that a crash or a
hang of a library is found and survived. With atheris, inputs that reach new code of elmokit are
kept and damaged further; without it, good files are damaged again and again. Prints, for every
target: inputs tried, exceptions that are not InputError, peak memory, and the slowest input.
Offending inputs are kept in FOLDER. The exit status is 1 if there were any.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

HANG_SECONDS = 60
"""An input that takes longer is reported as a hang."""
MOST_MEMORY_MB = 4096
LONGEST_INPUT = 1 << 18


class Tally:
    """What happened to one target, written to a file now and then: the fuzzer never returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs = 0
        self.exceptions: dict[str, int] = {}
        self.slowest_seconds, self.slowest_name = 0.0, ""
        self._saved = 0.0

    def add(self, name: str, content: bytes, seconds: float, error: Exception | None) -> None:
        self.inputs += 1
        if seconds > self.slowest_seconds:
            self.slowest_seconds, self.slowest_name = seconds, name
            (self.folder / "slowest").write_bytes(content)
        if error is not None:
            trace = traceback.extract_tb(error.__traceback__)
            place = f"{Path(trace[-1].filename).name}:{trace[-1].lineno}" if trace else str(error)
            kind = f"{type(error).__name__} at {place} ({name})"
            if kind not in self.exceptions:
                number = len(self.exceptions)
                (self.folder / f"input-{number}").write_bytes(content)
                trace = "".join(traceback.format_exception(error))
                (self.folder / f"input-{number}.txt").write_text(f"{name}\n{trace}")
            self.exceptions[kind] = self.exceptions.get(kind, 0) + 1
        if time.monotonic() - self._saved > 1 or error is not None:
            self.save()

    def save(self) -> None:
        self._saved = time.monotonic()
        facts = {
            "inputs": self.inputs,
            "exceptions": self.exceptions,
            "slowest_seconds": self.slowest_seconds,
            "slowest_name": self.slowest_name,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        (self.folder / "tally.json").write_text(json.dumps(facts))


def attack_target(name: str, seconds: float, seed: int, folder: Path) -> None:
    """In a process of its own: attack one target until its time is over."""
    try:
        import atheris
    except ImportError:
        atheris = None
    if atheris is not None:
        import torch  # before, so that it is not instrumented

        with atheris.instrument_imports(include=["elmokit"], enable_loader_override=False):
            from targets import Victim, all_targets, draw_attack

            targets = all_targets()
    else:
        import torch
        from targets import Victim, all_targets, draw_attack

        targets = all_targets()
    torch.set_num_threads(1)
    target = next(target for target in targets if target.name == name)
    victim = Victim(target, folder / "files")
    tally = Tally(folder)
    names = victim.names

    def attack(which: str, content: bytes) -> None:
        # Kept before it is tried: a crash or a hang leaves no time for it afterwards.
        (folder / "last").write_bytes(content)
        started = time.process_time()
        error = victim.attack(which, content)
        tally.add(which, content, time.process_time() - started, error)

    if atheris is None:
        source, end = random.Random(seed), time.monotonic() + seconds
        while time.monotonic() < end:
            attack(*draw_attack(victim, source))
        tally.save()
        return
    _guided(atheris, victim, names, attack, seconds, seed, folder)


def _guided(
    atheris: Any,
    victim: Any,
    names: list[str],
    attack: Callable[[str, bytes], None],
    seconds: float,
    seed: int,
    folder: Path,
) -> None:
    """libFuzzer keeps what reaches new code. An input is one byte, which file, and its content."""
    from mutations import damage

    seeds = folder / "seeds"
    seeds.mkdir()
    for number, name in enumerate(names[:256]):
        (seeds / f"{number}").write_bytes(bytes([number]) + victim.files[name])

    def mutate(data: bytes, max_size: int, number: int) -> bytes:
        source = random.Random(number)
        if not data or source.random() < 0.05:
            which = source.randrange(min(len(names), 256))
            data = bytes([which]) + victim.files[names[which]]
        name = names[data[0] % len(names)]
        if source.random() < 0.3:
            return data[:1] + bytes(atheris.Mutate(data[1:], max_size - 1))
        return data[:1] + damage(data[1:], source, name)[: max_size - 1]

    def try_one(data: bytes) -> None:
        if data:
            attack(names[data[0] % len(names)], data[1:])

    options = [
        f"-max_total_time={max(1, round(seconds))}", f"-seed={seed + 1}", "-verbosity=0",
        f"-max_len={LONGEST_INPUT}", f"-timeout={HANG_SECONDS}", f"-rss_limit_mb={MOST_MEMORY_MB}",
        f"-artifact_prefix={folder}/crash-",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options, str(seeds)], try_one, custom_mutator=mutate)
    atheris.Fuzz()


def run_target(name: str, seconds: float, seed: int, folder: Path) -> dict[str, Any]:
    """What a process that attacked one target found; it is started again after a crash."""
    end, total = time.monotonic() + seconds, {"inputs": 0, "exceptions": {}, "crashes": 0}
    total |= {"slowest_seconds": 0.0, "slowest_name": "", "peak_mb": 0.0}
    attempt = 0
    while (left := end - time.monotonic()) > 2 or attempt == 0:
        part = folder / f"{name.replace(' ', '-')}-{attempt}"
        part.mkdir(parents=True)
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            __file__,
            "--target",
            name,
            "--seconds",
            str(max(left, 2)),
        ]
        command += ["--seed", str(seed + attempt), "--out", str(part)]
        with (part / "output").open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
            try:
                status = process.wait(timeout=max(left, 2) + 2 * HANG_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
        _merge(total, part)
        if status != 0:
            total["crashes"] += 1
            print(
                f"{name}: crash, hang or too much memory (status {status}); see {part}",
                file=sys.stderr,
            )
        attempt += 1
    return total


def _merge(total: dict[str, Any], part: Path) -> None:
    if not (part / "tally.json").is_file():
        return
    facts = json.loads((part / "tally.json").read_text())
    total["inputs"] += facts["inputs"]
    for kind, count in facts["exceptions"].items():
        total["exceptions"][kind] = total["exceptions"].get(kind, 0) + count
    if facts["slowest_seconds"] > total["slowest_seconds"]:
        total["slowest_seconds"] = facts["slowest_seconds"]
        total["slowest_name"] = facts["slowest_name"]
    total["peak_mb"] = max(total["peak_mb"], facts["peak_mb"])


def report(found: dict[str, dict[str, Any]], seconds: float) -> bool:
    """Print the counts; whether all is well."""
    print(f"{'target':<30}{'inputs':>9}{'not InputError':>16}{'crashes':>9}{'MB':>7}  slowest")
    for name, facts in found.items():
        wrong = sum(facts["exceptions"].values())
        print(
            f"{name:<30}{facts['inputs']:>9,}{wrong:>16,}{facts['crashes']:>9}"
            f"{facts['peak_mb']:>7.0f}  {facts['slowest_seconds']:.2f} s {facts['slowest_name']}"
        )
        for kind, count in facts["exceptions"].items():
            print(f"    {count:,} x {kind}")
    inputs = sum(facts["inputs"] for facts in found.values())
    wrong = sum(sum(facts["exceptions"].values()) for facts in found.values())
    crashes = sum(facts["crashes"] for facts in found.values())
    peak = max(facts["peak_mb"] for facts in found.values())
    slowest = max(facts["slowest_seconds"] for facts in found.values())
    print(
        f"{inputs:,} inputs in {seconds / 60:.1f} minutes: {wrong:,} exceptions that are not "
        f"InputError, {crashes} crashes or hangs, at most {peak:.0f} MB, slowest {slowest:.2f} s"
    )
    return wrong == 0 and crashes == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--only", action="append", help="a target's name; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs") / "fuzz")
    parser.add_argument("--target", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.target:
        attack_target(options.target, options.seconds, options.seed, options.out)
        return
    from targets import all_targets

    targets = [one for one in all_targets() if not options.only or one.name in options.only]
    if not targets:
        sys.exit(f"no such target; there are: {', '.join(one.name for one in all_targets())}")
    folder = options.out / time.strftime("%Y%m%d-%H%M%S")
    seconds = 60 * options.minutes / sum(target.weight for target in targets)
    started, found = time.monotonic(), {}
    for target in targets:
        found[target.name] = run_target(target.name, seconds * target.weight, options.seed, folder)
        print(f"{target.name}: {found[target.name]['inputs']:,} inputs", file=sys.stderr)
    sys.exit(0 if report(found, time.monotonic() - started) else 1)


if __name__ == "__main__":
    main()
