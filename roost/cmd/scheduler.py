"""roost-scheduler: chooses hosts. Any number serve the scheduler bus."""

from roost import concurrency

if __name__ == "roost.cmd.scheduler":
    concurrency.select()
