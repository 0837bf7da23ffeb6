"""Image stores, as the API and the hosts read them."""
