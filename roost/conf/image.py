"""Options of the image store and of signed images."""

from oslo_config import cfg

GROUP = "image"
OPTIONS = [
    cfg.StrOpt(
        "store", default="local", help="The image store: an entry point's name, local or glance."
    ),
    cfg.StrOpt(
        "local_path",
        help="The folder of the local store, which roost-api and all computes must share."
        " Left out: images below [DEFAULT] state_path.",
    ),
    cfg.StrOpt(
        "certificates",
        help="A folder with the certificates of image signatures, and those of their issuers, as"
        " UUID.pem. Set it on hosts and on roost-api where users may require signed images"
        " (trusted_image_certificates). Left out: such requests are refused.",
    ),
    cfg.BoolOpt(
        "verify_signatures",
        deprecated_name="verify_glance_signatures",
        deprecated_group="glance",
        default=False,
        help="Whether hosts boot signed images only, even if users do not require it. It needs"
        " certificates.",
    ),
    cfg.ListOpt(
        "default_trusted_certificate_ids",
        deprecated_group="glance",
        default=[],
        help="The certificates that are trusted with verify_signatures if users name none. Left"
        " out: all in the folder certificates.",
    ),
    cfg.IntOpt(
        "max_size",
        default=1 << 40,
        min=1,
        help="Bytes that an image may have that users upload to roost-api; a larger one is refused"
        " (413). Lower it where users could fill the folder of the local store.",
    ),
]
