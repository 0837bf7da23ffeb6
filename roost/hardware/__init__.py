"""What flavors and images ask of a host: names, values, and what these come to.

``properties.py`` knows the names and ``values.py`` what each may be; ``extra_specs.py`` judges
flavors, ``image_requirements.py`` images, ``rules.py`` what cannot be together.
``requirements.py`` is the way in for a boot: it makes ``numa.py``'s topology, ``pci_aliases.py``'s
devices and ``traits.py``'s traits of both. ``spec_language.py`` are the operators (``s==``,
``<in>``) that filters understand.

Values only: imports ``objects`` and below, knows neither HTTP nor SQL nor options.
"""
