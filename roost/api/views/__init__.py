"""Objects as JSON, per microversion: the only place where the words outside and inside meet."""
