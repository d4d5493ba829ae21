"""``pauc figure``: the paper's figures, drawn from runs. One module per figure."""
