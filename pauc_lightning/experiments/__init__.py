"""Comparisons: many runs, one table and one figure.

- What is asked for: ``cells``, ``plan``, ``commands``.
- The books: ``directory``, ``outcome``.
- Running: ``comparison``, ``inner_run``, and the callbacks in ``record`` with ``live``.
- The display: ``board``, ``display``, ``timing``.
- The results: ``table``, ``report``, ``training_part``.
"""
