"""The stored history: which rows a request becomes, and which ones erasing leaves."""
