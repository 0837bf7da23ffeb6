"""Where images come from."""

from oslo_config import cfg

GROUP = "image"
OPTIONS = [
    cfg.StrOpt("store", default="local", help="The image store: an entry point's name."),
    cfg.StrOpt(
        "local_path",
        help="The folder of the local store, which roost-api and all computes must see."
        " Left out: images below [DEFAULT] state_path.",
    ),
]
