"""multilingual-e5-small run here: weights as a file carries them, its tokenizer, its graph, and text to vector."""
