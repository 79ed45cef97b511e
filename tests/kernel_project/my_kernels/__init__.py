"""Kernels in fp16: what is tested."""
