"""Texts as vectors: static ones that come with the package, and any model in the ONNX format."""
