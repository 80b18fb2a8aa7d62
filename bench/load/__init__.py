"""The cost of requests under load, and the state of data after processes are killed."""
