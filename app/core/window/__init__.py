"""The window: turn a conversation and a token budget into messages for a model."""
