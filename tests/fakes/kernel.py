"""A host's links, namespaces, tables and processes, for what is made by commands.

Commands that would fail on a real host fail here: what is there is not made again, what is not
there is neither changed nor removed.
"""

import itertools
import pathlib

from roost import exception


class Killed(BaseException):
    """The process that runs commands is killed."""


class FakeKernel:
    """Keeps the promises of ``roost.compute.network.bridge.system.System``.

    :param links: those that the host has by itself
    """

    def __init__(self, *links):
        self.links = {name: {} for name in links}
        self.namespaces = {}
        self.tables = {}
        self.processes = {}
        self.commands = []
        self.dies_after = None
        self.fails = ()
        self._numbers = itertools.count(4026532000)

    def everything(self):
        """What is there, without the numbers by which it is told apart."""
        inside = {name: namespace["links"] for name, namespace in self.namespaces.items()}
        return self.links, inside, self.tables, sorted(map(str, self.processes))

    def check(self):
        pass

    def run(self, *words, text=""):
        if self.dies_after is not None:
            if not self.dies_after:
                raise Killed
            self.dies_after -= 1
        self.commands.append(words)
        if any(word in words for word in self.fails):
            raise exception.Internal(f"{' '.join(words)}: no such luck")
        match words:
            case ("nft", "-f", "-"):
                self._tables(text)
            case ("ip", "netns", "exec", name, "dnsmasq", conf):
                self._start_dnsmasq(name, conf.partition("=")[2])
            case ("ip", "netns", what, name):
                self._netns(what, name)
            case ("ip", "-n", name, *rest):
                self._link(self._namespace(name)["links"], rest)
            case ("ip", *rest):
                self._link(self.links, rest)
            case _:
                raise AssertionError(f"nobody knows {words}")
        return ""

    def succeeds(self, *words):
        try:
            self.run(*words)
        except exception.Internal:
            return False
        return True

    def index(self, link):
        self._must(link in self.links, link)
        return 1 + sorted(self.links).index(link)

    def namespace(self, name):
        return self.namespaces.get(name, {}).get("number")

    def runs(self, pid_file, *, argument, within):
        return self.processes.get(pid_file) == (argument, self.namespace(within))

    def end(self, pid_file, *, argument):
        self.processes.pop(pid_file, None)

    def _namespace(self, name):
        if name not in self.namespaces:
            raise exception.Internal(f"no namespace {name}")
        return self.namespaces[name]

    def _netns(self, what, name):
        if what == "add":
            self._must(name not in self.namespaces, name)
            self.namespaces[name] = {"links": {"lo": {}}, "number": next(self._numbers)}
            return
        links = self._namespace(name)["links"]
        del self.namespaces[name]
        for link in links.values():
            self.links.pop(link.get("peer"), None)

    def _start_dnsmasq(self, namespace, conf):
        lines = dict(
            line.partition("=")[::2] for line in pathlib.Path(conf).read_text().splitlines()
        )
        number = self._namespace(namespace)["number"]
        self._must(number not in {place for _, place in self.processes.values()}, "port 67")
        self.processes[pathlib.Path(lines["pid-file"])] = (conf, number)

    def _tables(self, text):
        """Do as nft does: all of it, or nothing."""
        tables = dict(self.tables)
        for line in text.splitlines():
            match line.split():
                case ["table", family, name, *rest]:
                    tables.setdefault(_table(family, name), "")
                    if rest:
                        tables[_table(family, name)] = text
                case ["delete", "table", family, name]:
                    self._must(tables.pop(_table(family, name), None) is not None, line)
        self.tables = tables

    def _link(self, links, words):  # noqa: C901 - a line per command
        match words:
            case ["link", "show", "dev", name]:
                self._must(name in links, name)
            case ["link", "add", "name", name, "type", "bridge"]:
                self._must(name not in links, name)
                links[name] = {}
            case [
                "link",
                "add",
                "name",
                name,
                "type",
                "veth",
                "peer",
                "name",
                peer,
                "netns",
                there,
            ]:
                inner = self._namespace(there)["links"]
                self._must(name not in links and peer not in inner, name)
                links[name], inner[peer] = {"peer": peer}, {"peer": name}
            case ["tuntap", "add", "dev", name, "mode", "tap"]:
                self._must(name not in links, name)
                links[name] = {}
            case ["link", "delete", "dev", name]:
                self._must(name in links, name)
                peer = links.pop(name).get("peer")
                for namespace in self.namespaces.values():
                    if namespace["links"].get(peer, {}).get("peer") == name:
                        del namespace["links"][peer]
                for other in links.values():
                    if other.get("master") == name:
                        del other["master"]
            case ["link", "set", "dev", name, *how]:
                self._must(name in links, name)
                self._set(links, links[name], how)
            case [("address" | "route") as what, "replace", value, "dev", name, *_]:
                self._must(name in links, name)
                links[name][what] = value
            case _:
                raise AssertionError(f"nobody knows {words}")

    def _set(self, links, link, how):
        how = list(how)
        while how:
            match how.pop(0):
                case "master":
                    self._must(how[0] in links, how[0])
                    link["master"] = how.pop(0)
                case "nomaster":
                    link.pop("master", None)
                case "up":
                    link["up"] = True
                case name:
                    link[name] = how.pop(0)

    def _must(self, so, what):
        if not so:
            raise exception.Internal(f"{what}: it is there already, or it is not")


def _table(family, name):
    return name if family == "bridge" else f"{family} {name}"
