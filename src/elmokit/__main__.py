"""``python -m elmokit`` is the ``elmokit`` command (torchrun needs this form)."""

from elmokit.cli import main

if __name__ == "__main__":
    main()
