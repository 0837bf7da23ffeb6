"""One file per daemon and tool: reads options, puts the parts together, runs them."""
