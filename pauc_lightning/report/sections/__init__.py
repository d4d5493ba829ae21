"""The sections of a report: a model in, HTML out."""
