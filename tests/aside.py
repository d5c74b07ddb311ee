"""Code in a process of its own, so that a crash, a hang or a hunger for memory is a failed test."""

import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run_aside(code, *args, megabytes=4096, seconds=60):
    """Return what a process prints, which must end well, in time and in so much memory."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r})\n{code}", *args],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout
