"""Fits over many machines: each part of the data is learned from where it is, and all are merged.

`omvfs.distributed.dask` runs on Dask, `omvfs.distributed.spark` on Spark. The steps that any engine
runs are in `omvfs.distributed.steps`.
"""
