"""The kinds of operations by which a server gives its host back, and gets one again.

Shelved, it is stopped, and an image in the store has what its disk has. Offloaded, it is on no host
and has nothing but that image. It keeps its name, its ports and its flavor.
"""

from typing import Final

from roost import states
from roost.operations.steps import AS_BEFORE, Ending, on_host
from roost.states import ACTIVE, PAUSED, SHELVED, SHELVED_OFFLOADED, STOPPED, SUSPENDED

_OFFLOADED: Final = Ending(vm_state=SHELVED_OFFLOADED, leaves_host=True)
SHELVE: Final = on_host(
    "shelve",
    tasks=(
        states.SHELVING,
        states.SHELVING_IMAGE_PENDING_UPLOAD,
        states.SHELVING_IMAGE_UPLOADING,
    ),
    begins=(ACTIVE, STOPPED, PAUSED, SUSPENDED),
    event="shelve",
    reads_instance=True,
    uses_images=True,
    since="1.9",
    leads_to=SHELVED,
    done=Ending(vm_state=SHELVED),
)
# The image has all that is needed: a host that is down is left, and removes what it has later.
SHELVE_OFFLOAD: Final = on_host(
    "shelve_offload",
    action="shelveOffload",
    tasks=(states.SHELVING_OFFLOADING,),
    begins=(SHELVED,),
    event="shelve_offload",
    destroys_guest=True,
    leads_to=SHELVED_OFFLOADED,
    repeated_until_done=True,
    since="1.9",
    done=_OFFLOADED,
    lost=_OFFLOADED,
)
# One that is still on its host is started there again.
UNSHELVE: Final = on_host(
    "unshelve",
    tasks=(states.UNSHELVING,),
    begins=(SHELVED,),
    event="unshelve",
    reads_instance=True,
    uses_images=True,
    since="1.9",
    failed=AS_BEFORE,
)
# The schedulers have chosen a host. If that fails, the server is where it was: on none.
UNSHELVE_OFFLOADED: Final = on_host(
    "unshelve_offloaded",
    action="unshelve",
    tasks=(states.UNSHELVING,),
    begins=(SHELVED_OFFLOADED,),
    event="unshelve",
    reads_instance=True,
    creates_guest=True,
    uses_images=True,
    since="1.9",
    failed=_OFFLOADED,
    lost=_OFFLOADED,
)
