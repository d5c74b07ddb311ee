"""The server beside a run: a process of its own, which ends when the run does, however it ends.

The run holds the other end of its standard input: when that closes, be it that the run was killed,
the server shows what is last and ends.
"""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Seconds in which the server must say its address, and in which it must end.
_START, _END = 30, 5


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the page of a folder while the block runs, and give its address.

    On the usual port if it is free, else on another.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    OSError
        If there is no server.
    """
    command = [sys.executable, "-P", "-m", "omvfs.live.beside", str(folder)]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    # In a session of its own: Ctrl-C is for the run, whose end is to be shown.
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=nothing, start_new_session=True
    ) as job:
        assert job.stdin is not None
        assert job.stdout is not None
        alarm = threading.Timer(_START, job.kill)
        alarm.start()
        try:
            address = job.stdout.readline().decode().strip()
            alarm.cancel()
            if not address:
                raise OSError("The server of the page does not start: leave --watch out.")
            yield address
        finally:
            alarm.cancel()
            with contextlib.suppress(OSError):
                job.stdin.close()
            try:
                job.wait(_END)
            except subprocess.TimeoutExpired:
                job.kill()


def main(folder: str) -> None:
    """Serve until standard input ends.

    Parameters
    ----------
    folder : str
    """
    from omvfs.live.server import PORT, Place, TakenError, serve

    try:
        place = Place.of("127.0.0.1", PORT)
    except TakenError:
        place = Place.of("127.0.0.1", 0)
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.buffer.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    sys.stdout.write(f"{place.address}\n")
    sys.stdout.flush()
    serve(Path(folder), place, ended.is_set)


if __name__ == "__main__":
    main(sys.argv[1])
