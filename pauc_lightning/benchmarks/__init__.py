"""``pauc benchmark NAME``: measurements that verify the project's claims on any machine.

``startup`` (imports and help pages), ``data`` (loading), ``loss``, ``step`` (a training step), ``matrix`` (many small
runs), ``metric``, and ``resume`` (runs killed at random). ``command`` dispatches to them.
"""
