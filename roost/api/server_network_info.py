"""An administrator has a guest told of its network anew.

Nothing is written into guests here: they read of their network, as it is, from the metadata
service. So all that is left is to say whether there is such a guest.
"""

from roost import exception
from roost.api.call import Answer, Call
from roost.api.whereabouts import Located


def inject(_call: Call, located: Located) -> Answer:
    """Accept it.

    :raises roost.exception.Conflict: while the server is on no host
    """
    if located.instance.host is None:
        uuid = located.instance.uuid
        raise exception.Conflict(
            f"Instance {uuid} is on no host: no guest can be told of its network."
        )
    return Answer()
