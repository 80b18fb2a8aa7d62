"""What requests cost, under which load, and what is left after kills."""
