"""A slow and obvious program that tries every way to place an instance on a host.

It keeps no books: what is free follows from the placements that were given out, as their objects
tell them.
"""

import itertools

PAGES = (1048576, 524288)  # KiB, as hosts may have them


class SlowHost:
    """A host, the placements on it, and what the rules say of one more."""

    def __init__(self, cells, pools):
        self.cells = {cell.id: cell for cell in cells}
        self.pools = pools
        self.held = []

    def siblings(self, cpu):
        for cell in self.cells.values():
            for core in cell.siblings:
                if cpu in core:
                    return set(core)
        return {cpu}

    def given(self):
        """CPUs that one instance has for itself."""
        given = set()
        for held in self.held:
            for cell in held.numa.cells if held.numa else []:
                for cpu in cell.pinning:
                    isolated = held.numa.cpu_thread_policy == "isolate"
                    given |= self.siblings(cpu) if isolated else {cpu}
        return given

    def may_have(self, cpus, cell, threads):
        """Tell whether these CPUs of a cell may be pinned together."""
        given, dedicated, shared = self.given(), set(cell.pcpus), set(cell.cpus)
        if not set(cpus) <= dedicated - given:
            return False
        others = given | shared
        if threads == "isolate":
            return all((self.siblings(cpu) - {cpu}).isdisjoint(others | set(cpus)) for cpu in cpus)
        if threads == "require":
            cores = {frozenset(self.siblings(cpu) & dedicated) for cpu in cpus}
            whole = all(len(core) > 1 and core.isdisjoint(given) for core in cores)
            return whole and sum(not core <= set(cpus) for core in cores) <= 1
        return True

    def pages_left(self, cell, page_kb):
        asked = [
            part
            for held in self.held
            if held.numa
            for part in held.numa.cells
            if part.host_cell == cell.id and part.page_kb == page_kb
        ]
        if page_kb is None:
            huge = sum(int(size) * count for size, count in cell.page_counts.items()) // 1024
            return cell.memory_mb - huge - sum(part.memory_mb for part in asked)
        used = sum(part.memory_mb * 1024 // page_kb for part in asked)
        return cell.page_counts.get(str(page_kb), 0) - used

    def pages_for(self, wanted, cell):
        """All page sizes that would do."""
        allowed = {None: [None], "small": [None], "any": [*PAGES, None], "large": [*PAGES]}
        for size in allowed.get(wanted.page_size) or [int(wanted.page_size)]:
            if size is None:
                if wanted.memory_mb <= self.pages_left(cell, None):
                    yield size
            elif wanted.memory_mb * 1024 in range(0, self.pages_left(cell, size) * size + 1, size):
                yield size

    def cell_fits(self, wanted, cell, threads):
        pinnings = itertools.combinations(cell.pcpus, len(wanted.pcpus))
        return (
            len(wanted.cpus) <= len(cell.cpus)
            and list(self.pages_for(wanted, cell)) != []
            and (not wanted.pcpus or any(self.may_have(cpus, cell, threads) for cpus in pinnings))
        )

    def left(self, pool):
        same = (pool.vendor_id, pool.product_id, pool.dev_type, pool.numa_node)
        used = sum(
            part.count
            for held in self.held
            for part in held.pci
            if (part.vendor_id, part.product_id, part.dev_type, part.numa_node) == same
        )
        return (
            sum(
                other.count
                for other in self.pools
                if (other.vendor_id, other.product_id, other.dev_type, other.numa_node) == same
            )
            - used
        )

    def kinds(self):
        """One pool of each kind, and how many of it are left."""
        kinds = {(p.product_id, p.dev_type, p.numa_node): p for p in self.pools}
        return [(pool, self.left(pool)) for pool in kinds.values()]

    def socket(self, cell_id):
        socket = self.cells[cell_id].socket
        return ("cell", cell_id) if socket is None else socket

    def near(self, node, places, policy):
        if places is None or policy == "preferred":
            return True
        if policy == "socket":
            return node in self.cells and self.socket(node) in map(self.socket, places)
        return node in places or (policy == "legacy" and node is None)

    def devices_fit(self, requests, places):
        units = [request for request in requests for _ in range(request.count)]
        kinds = self.kinds()

        def rest_fits(index, left):
            if index == len(units):
                return True
            return any(
                left[at]
                and meets(units[index], pool)
                and self.near(pool.numa_node, places, units[index].numa_policy)
                and rest_fits(index + 1, [*left[:at], left[at] - 1, *left[at + 1 :]])
                for at, (pool, _) in enumerate(kinds)
            )

        return rest_fits(0, [left for _, left in kinds])

    def fits(self, numa, requests):
        if numa is None:
            return self.devices_fit(requests, None)
        threads = numa.cpu_thread_policy
        return any(
            all(
                self.cell_fits(wanted, self.cells[place], threads)
                for wanted, place in zip(numa.cells, places, strict=True)
            )
            and self.devices_fit(requests, places)
            for places in itertools.permutations(self.cells, len(numa.cells))
        )

    def check(self, held, numa, requests):
        """Make sure that a placement is what was asked for, and that all of it was free."""
        places = self.check_cells(held, numa) if numa else None
        for request in requests:
            got = sum(part.count for part in held.pci if part.alias == request.alias)
            assert got == request.count
        for pool, left in self.kinds():
            same = (pool.product_id, pool.dev_type, pool.numa_node)
            parts = [p for p in held.pci if (p.product_id, p.dev_type, p.numa_node) == same]
            assert sum(part.count for part in parts) <= left
        for part in held.pci:
            policies = {request.numa_policy for request in requests if request.alias == part.alias}
            assert any(self.near(part.numa_node, places, policy) for policy in policies)

    def check_cells(self, held, numa):
        places = [cell.host_cell for cell in held.numa.cells]
        assert len(places) == len(set(places)) == len(numa.cells)
        for wanted, got in zip(numa.cells, held.numa.cells, strict=True):
            cell = self.cells[got.host_cell]
            assert (got.id, got.pcpus, got.memory_mb) == (wanted.id, wanted.pcpus, wanted.memory_mb)
            assert len(got.pinning) == len(wanted.pcpus)
            assert self.may_have(got.pinning, cell, numa.cpu_thread_policy)
            assert got.page_kb in self.pages_for(wanted, cell)
        return places


def meets(request, pool):
    return any(
        pool.vendor_id == spec.get("vendor_id", pool.vendor_id)
        and pool.product_id == spec.get("product_id", pool.product_id)
        and (pool.dev_type == "type-PF") == (spec.get("dev_type") == "type-PF")
        for spec in request.specs
    )
