"""Durable background work: a table of what is to be done, kept in the database that the results go to."""
