"""Services outside Roost, and how we speak to them: as the user who asks, or as ourselves."""
