"""Plain query functions, a file for each noun. They return core values and decide nothing.

Every statement names the tenant, although row-level security would hide other tenants' rows anyway: the one
is for the planner and for sharding, the other for the day somebody forgets the first.

The two hot statements (a window, an append) run alone, outside any transaction block, and set the tenant
themselves: ``LIMIT length(set_config(...)) / 36`` at the top of the statement. PostgreSQL computes a LIMIT
before it asks the plan below for its first row, so the setting is in place when the policies are evaluated,
and since it is local to the statement's own transaction it cannot leak. Were that order ever to change, the
policies would hide every row: the statement would find nothing, never too much.
"""
