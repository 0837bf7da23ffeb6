"""Services outside Roost, the real ones, for integration tests."""
