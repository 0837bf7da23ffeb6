"""The history of the scheduler's database."""
