"""``pauc export``: the model of a run as one file that needs neither this package nor the run.

``command`` is the command, ``exporting`` what it does. ``chain`` is the module that is exported, with the first step of
``table_front`` or ``tensor_front`` (both are a ``front``) and the ``calibration_step``; ``onnx_file`` and
``torch_file`` write it; ``checking`` compares the file with the run on the samples of ``test_samples``.
"""
