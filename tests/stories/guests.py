"""The files that pretended hypervisors keep their guests in."""


def guest_file(cloud, host, server_id):
    """Return the file of one guest, there or not."""
    return cloud.plan.state / "var" / host / host / "guests" / f"{server_id}.json"
