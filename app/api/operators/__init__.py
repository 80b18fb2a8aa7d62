"""What operators ask for: keys, jobs, usage, the audit log, health."""
