"""What is stored: what a request becomes, and what erasing leaves of it."""
