"""``pauc features``: the frozen features of a pretrained network as a table, for a linear scorer or an MLP.

``recipe`` holds what decides the features, ``network`` computes them for a batch (in less time by ``folding``),
``extract`` for all images, in ``parts`` that survive a kill; ``table`` writes them as a Parquet file, and ``command``
is the command with its ``options``.
"""
