"""What is found, and how relevant it is."""
