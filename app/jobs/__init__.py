"""One module for each kind of background work: gather, decide or ask a model, apply and finish in one transaction."""
