"""Routes for operators: keys, jobs, usage, the audit log, health."""
