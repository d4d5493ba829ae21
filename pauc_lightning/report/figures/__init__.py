"""The charts of a report: values in, SVG out."""
