"""Comparisons: many runs, one table and one figure.

- Entry point of ``pauc compare``: ``compare``.
- The request: ``request`` (options) with ``experiment_file`` and ``axes``, which give a ``plan`` of ``cells``, each a
  ``variant`` of the common settings; ``commands`` (their ``pauc`` commands).
  ``option_values`` are shared with other commands.
- Bookkeeping: ``directory`` with its ``lock``, ``note`` (the settings), ``outcome``.
- Running: ``comparison``, ``option_check``, ``tuned`` (searches first), ``training`` with ``schedule``, ``inner_run``
  with ``frozen_heap``, and the callbacks in ``record`` with ``live``. ``executors`` is where the trainings run.
- The display: ``board``, ``display``, ``timing``.
- The results: ``table`` with ``interval`` and ``best_of`` (choices among methods), written by ``markdown``, ``latex``
  and ``csv_rows``; ``report``, ``training_part``.
"""
