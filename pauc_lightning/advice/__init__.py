"""Advice: is training for the corner worth it on one's own data?

- Entry point of ``pauc advise``: ``command``, with its ``options``.
- The trainings: ``budget`` (as many tuned comparisons as the time allows).
- The answer: ``evidence`` (what was measured), ``verdict`` (one sentence), ``figure``.
"""
