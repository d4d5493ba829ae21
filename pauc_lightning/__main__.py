"""``python -m pauc_lightning`` is ``pauc``."""

from pauc_lightning.cli import main

if __name__ == "__main__":
    main()
