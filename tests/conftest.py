"""What every test stands on: native threads, chosen before anything else is imported."""

from roost import concurrency

concurrency.select([])
