"""Searches for a method's settings, on the validation part.

- Entry point of ``pauc tune``: ``command``; in Python: ``study.tune`` with a ``request.TuneRequest``.
- The request: ``options`` (the command line), ``request``, ``space`` (what is varied).
- The search: ``study`` (which trial comes next), ``proposal`` (its settings), ``pruning`` (when to give it up).
- The trainings: ``commands``, the callback in ``record``.
- Bookkeeping: ``trial``, ``directory``.
- The results: ``result``, ``best_config``, ``outputs``, ``figure``, ``display``.
"""
