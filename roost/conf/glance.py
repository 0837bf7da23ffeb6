"""Images of Glance: for ``[image] store = glance``."""

from oslo_config import cfg

from roost.conf.identity import client_options

GROUP = "glance"
SECONDS = 10.0  # that Glance may take to answer: users wait for it, and may try again


def _options() -> list[cfg.Opt]:
    options = client_options("image")
    cfg.set_defaults(options, timeout=SECONDS, status_code_retries=0)  # the SDK has five
    return [
        *options,
        cfg.FloatOpt(
            "transfer_timeout",
            default=3600.0,
            min=1.0,
            help="Seconds that an image may take to come from Glance, or to go there, in all. Raise"
            " it where images are large and the way is slow; what stands still on its way is given"
            " up after timeout.",
        ),
    ]


OPTIONS = _options()
