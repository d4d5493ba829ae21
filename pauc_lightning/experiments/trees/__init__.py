"""`pauc benchmark trees`: objectives of XGBoost and LightGBM side by side, with equal tuning.

``tables`` reads and splits the data, ``search`` draws the settings, ``boosters`` trains one model, ``study`` does what
has not been done yet, and ``report`` writes the tables.
"""
