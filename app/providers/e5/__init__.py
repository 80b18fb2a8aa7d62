"""multilingual-e5-small on this machine: its weight file, tokenizer and graph, and text to vector.

From version 1.29 on, onnxruntime on Linux sends telemetry to its makers as soon as it is imported, and keeps a device
id in the home directory. Quire must not disclose anything, so this is turned off first.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
