"""Comparisons: many runs, one table and one figure.

- Entry point of ``pauc compare``: ``compare``.
- The request: ``request`` (options) with ``experiment_file`` and ``axes``, which give a ``plan`` of ``cells``, each a
  ``variant`` of the common settings; ``commands`` (their ``pauc`` commands).
- Bookkeeping: ``directory``, ``note`` (the settings), ``outcome``.
- Running: ``comparison``, ``option_check``, ``training`` with ``schedule``, ``inner_run``, and the callbacks in
  ``record`` with ``live``. ``executors`` is where the trainings run.
- The display: ``board``, ``display``, ``timing``.
- The results: ``table`` with ``interval``, written by ``markdown``, ``latex`` and ``csv_rows``; ``report``,
  ``training_part``.
"""
