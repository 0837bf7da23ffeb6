"""The scheduler's own database: hosts and claims."""
