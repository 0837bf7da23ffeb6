"""Where images come from."""

from oslo_config import cfg

GROUP = "image"
OPTIONS = [
    cfg.StrOpt(
        "store", default="local", help="The image store: an entry point's name, local or glance."
    ),
    cfg.StrOpt(
        "local_path",
        help="The folder of the local store, which roost-api and all computes must see."
        " Left out: images below [DEFAULT] state_path.",
    ),
    cfg.IntOpt(
        "max_size",
        default=1 << 40,
        min=1,
        help="Bytes that an image may have that users upload to roost-api; what is sent beyond is"
        " refused (413). Lower it where they could fill the folder of the local store.",
    ),
]
