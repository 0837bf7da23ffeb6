"""A scheduler's reporter that only counts."""


class FakeReporter:
    def __init__(self):
        self.changes = 0
        self.ticks = []

    def changed(self):
        self.changes += 1

    def tick(self, now):
        self.ticks.append(now)
        return True
