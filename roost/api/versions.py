"""Version documents: what clients read first."""

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import versions as views


class Versions:
    """Handlers of the roots of Compute, Image and Network."""

    def __init__(self, parts: Parts) -> None:
        """Nothing is needed: the documents follow from the address."""

    def list_compute(self, call: Call) -> Answer:
        legacy, current = views.legacy_compute(call.base_url), views.compute(call.base_url)
        return Answer({"versions": [legacy, current]})

    def show_compute(self, call: Call) -> Answer:
        return Answer({"version": views.compute_in_full(call.base_url)})

    def show_legacy_compute(self, call: Call) -> Answer:
        return Answer({"version": views.legacy_compute_in_full(call.base_url)})

    def list_image(self, call: Call) -> Answer:
        return Answer({"versions": views.image(call.base_url)})

    def list_network(self, call: Call) -> Answer:
        return Answer({"versions": [views.network(call.base_url)]})

    def show_network(self, call: Call) -> Answer:
        return Answer({"resources": views.network_resources(call.base_url)})
