"""The flows, a file each: boot, reschedule, delete; and the sweeper, for what is left behind."""
