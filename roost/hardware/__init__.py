"""The hardware that flavors and images request: names, values and the host requirements.

``names.py`` has the known names and the outcome of the others, ``values.py`` the allowed values.
``properties.py`` reads them, ``image_requirements.py`` reads what images require of hosts;
``rules.py`` checks that they go together. ``requirements.py`` is the entry point for a boot: it
makes the topology (``numa.py``), the device requests (``pci_aliases.py``) and the traits
(``traits.py``); ``resource_groups.py`` reads what else is requested of a host, and ``providers.py``
finds it in the host and its parts.
``spec_language.py`` has the operators (``s==``, ``<in>``) of filters.

Values only: imports ``objects`` and below, uses no HTTP, SQL or options.
"""
