"""TensorFlow's checkpoints, read without TensorFlow: the tensor bundle format.

A checkpoint ``model.ckpt-7`` is a table of names (``.index``: table.py) whose values describe the
tensors (bundle.py), and shards (``.data-00000-of-00001``) that hold their bytes.
"""
