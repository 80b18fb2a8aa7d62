"""The stored history: the rows that a request becomes, and those that erasing leaves."""
