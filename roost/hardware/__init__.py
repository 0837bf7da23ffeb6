"""What flavors and images ask of a host: names, values, and what these come to.

``names.py`` knows what becomes of each name and ``values.py`` what each may be; ``properties.py``
reads them, ``image_requirements.py`` what images ask of hosts; ``rules.py`` knows what cannot be
together.
``requirements.py`` is the way in for a boot: it makes ``numa.py``'s topology, ``pci_aliases.py``'s
devices and ``traits.py``'s traits of both. ``spec_language.py`` are the operators (``s==``,
``<in>``) that filters understand.

Values only: imports ``objects`` and below, knows neither HTTP nor SQL nor options.
"""
