"""Background jobs, a function for each kind: gather, ask the model while holding nothing, apply and finish at once."""
