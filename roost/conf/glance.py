"""Options of the image store Glance, for ``[image] store = glance``."""

from oslo_config import cfg

from roost.conf.identity import client_options

GROUP = "glance"
SECONDS = 10.0  # that Glance may take to answer: users wait for it, and may retry


def _options() -> list[cfg.Opt]:
    options = client_options("image")
    cfg.set_defaults(options, timeout=SECONDS, status_code_retries=0)  # the SDK has five
    return [
        *options,
        cfg.FloatOpt(
            "transfer_timeout",
            default=3600.0,
            min=1.0,
            help="Seconds that the whole download or upload of an image may take. Raise it where"
            " images are large and the network is slow; a stalled transfer is aborted after"
            " timeout.",
        ),
    ]


OPTIONS = _options()
