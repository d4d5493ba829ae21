"""Comparisons: many runs, one table and one figure.

- Entry point of ``pauc compare``: ``compare``.
- The request: ``plan`` (options), ``cells`` (the trainings), ``commands`` (their ``pauc fit`` commands).
- Bookkeeping: ``directory``, ``outcome``.
- Running: ``comparison``, ``inner_run`` with ``frozen_heap``, and the callbacks in ``record`` with ``live``.
- The display: ``board``, ``display``, ``timing``.
- The results: ``table``, ``report``, ``training_part``.
"""
