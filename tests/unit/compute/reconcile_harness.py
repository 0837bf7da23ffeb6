"""A host whose guests and rows are compared, for tests to make differ."""

from tests.builders import NOW


class World:
    """A host that has started, instances with their guests, and what came of both."""

    def __init__(self, rig, boot):
        self.rig = rig
        self.boot = boot
        self.conductor = rig.conductor
        self.virt = rig.virt
        self.manager = rig.manager()
        self.manager.start()

    def server(self, **values):
        """A server that was built here; by now its row has these values."""
        instance = self.rig.instance()
        self.boot(self.manager, instance)
        for name, value in {"launched_at": NOW, **values}.items():
            setattr(instance, name, value)
        return instance

    def leftover(self, **values):
        """The guest of a build that its daemon died over; by now its row has these values."""
        instance = self.server(**values)
        self.rig.unannounce(instance.uuid)
        return instance

    def reconcile(self):
        self.manager.reconcile()

    def kinds(self):
        return [kind for kind, _uuid in self.conductor.findings]

    def counts(self):
        return dict(self.manager._reconciler.counts)

    def power(self, instance):
        return self.virt.describe(instance.uuid).power_state
