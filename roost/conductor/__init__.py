"""The flows: a file each, boot, reschedule, delete; and the sweeper, which takes up what was left."""
