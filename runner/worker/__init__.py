"""The child: the process that holds the model. ``python -P -m runner.worker --fd N`` starts it.

Only this package imports mlx and mlx-lm, and only ``mlx_engine`` and ``sampling`` in it do. Nothing here imports the
supervisor; the two sides share ``runner.channel`` alone.
"""
