"""``python -m omvfs.cli`` is ``omvfs``."""

from omvfs.cli import main

if __name__ == "__main__":
    main()
