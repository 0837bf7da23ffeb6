"""Takes a server through its life as programs that know many clouds do, by libcloud.

Run by the Python of ``tools/clients.sh``; it imports nothing of Roost. Who asks, and where, is read
from the variables of an openrc. It prints the name of each step that went well.
"""

import os
import time
from collections.abc import Callable
from typing import Any

from libcloud.compute.drivers.openstack import OpenStackNetwork
from libcloud.compute.providers import get_driver
from libcloud.compute.types import NodeState, Provider

NAME, RENAMED = "libcloud", "renamed"
PATIENCE = 120  # seconds


def connect() -> Any:
    return get_driver(Provider.OPENSTACK)(
        os.environ["OS_USERNAME"],
        os.environ["OS_PASSWORD"],
        ex_force_auth_url=os.environ["OS_AUTH_URL"].removesuffix("/v3"),
        api_version="2.2",
        ex_force_auth_version="3.x_password",
        ex_force_service_region=os.environ["OS_REGION_NAME"],
        ex_tenant_name=os.environ["OS_PROJECT_NAME"],
        ex_domain_name="Default",  # the name of the one whose id is default
    )


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if answer := condition():
            return answer
        time.sleep(0.5)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


def named(things: list[Any], name: str) -> Any:
    """Return the one with a name; there must be just one."""
    (found,) = [one for one in things if one.name == name]
    return found


class Life:
    """The steps, in their order, and what they know of the server."""

    def __init__(self, cloud: Any) -> None:
        self.cloud = cloud
        self.node: Any = None

    def find(self) -> None:
        self.image = named(self.cloud.list_images(), "tiny")
        sizes = self.cloud.list_sizes()
        self.size, self.larger = named(sizes, "m1.tiny"), named(sizes, "m1.small")
        self.network = named(self.cloud.ex_list_networks(), "private")
        assert self.cloud.get_image(self.image.id).extra["status"] == "active"
        assert self.cloud.ex_get_size(self.size.id).ram == self.size.ram
        assert self.cloud.list_locations()

    def prepare(self) -> None:
        pair = self.cloud.create_key_pair(NAME)
        assert "PRIVATE KEY" in pair.private_key
        assert self.cloud.get_key_pair(NAME).fingerprint == pair.fingerprint
        self.group = self.cloud.ex_create_security_group(NAME, "of a server")
        self.cloud.ex_create_security_group_rule(self.group, "tcp", 22, 22, cidr="0.0.0.0/0")
        self.servers = self.cloud.ex_add_server_group(NAME, "anti-affinity")

    def create(self) -> None:
        made = self.cloud.create_node(
            NAME,
            self.size,
            self.image,
            ex_keyname=NAME,
            ex_security_groups=[self.group],
            ex_metadata={"colour": "blue"},
            ex_userdata="#!/bin/sh\n",
            ex_files={"/etc/motd": "hello"},
            networks=[self.network],
            ex_os_scheduler_hints={"group": self.servers.id},
        )
        assert made.extra["password"]
        ((node, addresses),) = self.cloud.wait_until_running(
            [made], wait_period=0.5, timeout=PATIENCE, ssh_interface="private_ips"
        )
        assert len(addresses) == 1
        self.node, self.fixed = node, addresses

    def show(self) -> None:
        shown = self.shown()
        assert (shown.name, shown.state) == (NAME, NodeState.RUNNING)
        assert (shown.extra["key_name"], shown.extra["imageId"]) == (NAME, self.image.id)
        assert shown.extra["metadata"] == {"colour": "blue"}
        assert shown.created_at is not None
        assert named(self.cloud.list_nodes(), NAME).id == self.node.id
        assert self.cloud.ex_get_server_group(self.servers.id).members == [self.node.id]

    def shown(self) -> Any:
        return self.cloud.ex_get_node_details(self.node.id)

    def metadata(self) -> None:
        self.cloud.ex_set_metadata(self.node, {"size": "small"})
        assert self.cloud.ex_get_metadata(self.node)["size"] == "small"

    def power(self) -> None:
        cloud = self.cloud
        for ask, state in (
            (cloud.stop_node, NodeState.STOPPED),
            (cloud.start_node, NodeState.RUNNING),
            (cloud.ex_soft_reboot_node, NodeState.RUNNING),
            (cloud.ex_hard_reboot_node, NodeState.RUNNING),
            (cloud.ex_pause_node, NodeState.UNKNOWN),  # it has no word for PAUSED
            (cloud.ex_unpause_node, NodeState.RUNNING),
            (cloud.ex_suspend_node, NodeState.SUSPENDED),
            (cloud.ex_resume_node, NodeState.RUNNING),
        ):
            assert ask(self.node), ask
            self.reaches(state)

    def reaches(self, state: str) -> None:
        wait_until(lambda: self.shown().state == state, state)

    def console_output(self) -> None:
        assert "output" in self.cloud.ex_get_console_output(self.node, length=5)

    def create_image(self) -> None:
        image = self.cloud.create_image(self.node, NAME, metadata={"os_distro": "debian"})
        wait_until(lambda: self.active(image), "the image is active")
        assert self.cloud.get_image(image.id).extra["os_distro"] == "debian"
        wait_until(lambda: self.shown().extra["task_state"] is None, "nothing is done to it")
        assert self.cloud.delete_image(image)

    def active(self, image: Any) -> bool:
        return bool(self.cloud.get_image(image.id).extra["status"] == "active")

    def security_groups(self) -> None:
        assert [one.name for one in self.cloud.ex_get_node_security_groups(self.node)] == [NAME]
        assert self.cloud.ex_remove_security_group_from_node(self.group, self.node)
        assert self.cloud.ex_get_node_security_groups(self.node) == []

    def ports(self) -> None:
        port = self.cloud.ex_create_port(OpenStackNetwork(self.network.id, None, None, None))
        assert self.cloud.ex_attach_port_interface(self.node, port)
        self.has_ports(2)
        assert self.cloud.ex_detach_port_interface(self.node, port)
        self.has_ports(1)
        assert self.cloud.ex_delete_port(port)

    def has_ports(self, count: int) -> None:
        wait_until(
            lambda: len(self.cloud.ex_get_node_ports(self.node)) == count, f"it has {count} ports"
        )

    def floating_ip(self) -> None:
        address = self.cloud.ex_create_floating_ip("public")
        assert self.cloud.ex_attach_floating_ip_to_node(self.node, address)
        wait_until(lambda: self.known()[0], "it is shown with its address")
        assert self.known() == ([address.ip_address], self.fixed)
        assert self.cloud.ex_detach_floating_ip_from_node(self.node, address)
        wait_until(lambda: self.known() == ([], self.fixed), "it is shown without its address")
        assert self.cloud.ex_delete_floating_ip(address)

    def known(self) -> tuple[list[str], list[str]]:
        """Return the addresses that lead to it from outside, and the others."""
        shown = self.shown()
        return shown.public_ips, shown.private_ips

    def resize(self) -> None:
        for ask, vm_state, size in (
            (lambda node: self.cloud.ex_resize(node, self.larger), "resized", self.larger),
            (self.cloud.ex_revert_resize, "active", self.size),
            (lambda node: self.cloud.ex_resize(node, self.larger), "resized", self.larger),
            (self.cloud.ex_confirm_resize, "active", self.larger),
        ):
            assert ask(self.node)
            self.becomes(vm_state)
            assert self.shown().extra["flavorId"] == size.id

    def becomes(self, vm_state: str) -> None:
        """Wait for a state that libcloud's own states do not tell apart."""
        wait_until(lambda: self.shown().extra["vm_state"] == vm_state, vm_state)
        assert self.shown().state == NodeState.RUNNING

    def rename(self) -> None:
        assert self.cloud.ex_set_server_name(self.node, RENAMED).name == RENAMED
        assert self.cloud.ex_set_password(self.node, "another")

    def delete(self) -> None:
        assert self.cloud.destroy_node(self.node)
        wait_until(lambda: self.node.id not in self.ids(), "it is gone")

    def ids(self) -> list[str]:
        return [node.id for node in self.cloud.list_nodes()]

    def tidy_up(self) -> None:
        assert self.cloud.delete_key_pair(self.cloud.get_key_pair(NAME))
        assert self.cloud.ex_delete_security_group(self.group)
        assert self.cloud.ex_del_server_group(self.servers)


def main() -> None:
    life = Life(connect())
    for step in (
        life.find,
        life.prepare,
        life.create,
        life.show,
        life.metadata,
        life.power,
        life.console_output,
        life.create_image,
        life.security_groups,
        life.ports,
        life.floating_ip,
        life.resize,
        life.rename,
        life.delete,
        life.tidy_up,
    ):
        step()
        print(step.__name__.replace("_", " "), flush=True)


if __name__ == "__main__":
    main()
