"""multilingual-e5-small run here: weights as a file carries them, its tokenizer, its graph, and text to vector.

onnxruntime on Linux reports to its makers from version 1.29 on, and keeps a device's id in the home directory, as soon
as it is imported. A memory of conversations tells nobody anything, so that is turned off before it can begin.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
