"""What aggregates say of flavors, images and projects."""

import pytest

from roost.scheduler.filters.aggregates import (
    AggregateExtraSpecsFilter,
    AggregateImagePropertiesFilter,
    AggregateTenantFilter,
    AggregateTypeAffinityFilter,
)
from tests.builders import a_flavor, an_image
from tests.unit.scheduler.host_builders import a_request, a_row, an_aggregate
from tests.unit.scheduler.requests import closest, refused

ROWS = a_row("h1"), a_row("h2")


def with_specs(**extra_specs):
    return a_request(flavor=a_flavor(extra_specs=extra_specs))


def with_properties(**properties):
    return a_request(image=an_image(properties=properties))


@pytest.mark.parametrize("scope", ["", "aggregate_instance_extra_specs:"])
def test_extra_specs_must_be_in_the_metadata_of_an_aggregate(scope):
    fast = an_aggregate("h1", ssd="true")
    request = with_specs(**{f"{scope}ssd": "true"})
    assert refused(AggregateExtraSpecsFilter(), request, *ROWS, aggregates=[fast]) == {
        "h2": "in no aggregate with ssd=true"
    }


@pytest.mark.parametrize("name", ["group_policy", "same_subtree"])
def test_extra_specs_on_groups_of_resources_are_no_metadata(name):
    assert not AggregateExtraSpecsFilter().applies_to(with_specs(**{name: "1"}))


def test_one_of_the_values_of_one_of_the_aggregates_does():
    aggregates = an_aggregate("h1", tier="gold, silver"), an_aggregate("h1", tier="tin")
    request = with_specs(tier="<or> silver <or> bronze")
    found = refused(AggregateExtraSpecsFilter(), request, *ROWS, aggregates=aggregates)
    assert list(found) == ["h2"]


def test_who_has_the_most_of_what_is_asked_came_closest():
    aggregates = [an_aggregate("h2", ssd="true", gpu="true"), an_aggregate("h1", gpu="true")]
    request = with_specs(ssd="true", gpu="true", tpm="true")
    assert closest(AggregateExtraSpecsFilter(), request, *ROWS, aggregates=aggregates) == (
        "h2",
        "in no aggregate with tpm=true",
    )


def test_aggregates_may_keep_hosts_for_images():
    kept = an_aggregate("h1", os_distro="windows, windows-server")
    request = with_properties(os_distro="debian")
    assert refused(AggregateImagePropertiesFilter(), request, *ROWS, aggregates=[kept]) == {
        "h1": "reserved for other images by its aggregates"
    }
    windows = with_properties(os_distro="windows")
    assert refused(AggregateImagePropertiesFilter(), windows, *ROWS, aggregates=[kept]) == {}


def test_images_that_do_not_say_may_go_to_kept_hosts():
    kept = an_aggregate("h1", os_distro="windows")
    request = with_properties(os_version="12")
    assert refused(AggregateImagePropertiesFilter(), request, *ROWS, aggregates=[kept]) == {}
    assert not AggregateImagePropertiesFilter().applies_to(with_properties())
    assert not AggregateImagePropertiesFilter().applies_to(a_request(image=None))


def test_with_a_namespace_only_metadata_of_it_counts():
    kept = an_aggregate("h1", os_distro="windows", **{"image.os": "windows"})
    each = AggregateImagePropertiesFilter(namespace="image", separator=".")
    request = with_properties(os_distro="debian", **{"image.os": "windows"})
    assert refused(each, request, *ROWS, aggregates=[kept]) == {}
    assert not each.applies_to(with_properties(os_distro="debian"))


@pytest.mark.parametrize("name", ["filter_tenant_id", "filter_tenant_id_of_the_bank"])
def test_aggregates_may_keep_hosts_for_projects(name):
    kept = an_aggregate("h1", **{name: "bank, exchange"})
    each = AggregateTenantFilter()
    assert refused(each, a_request(project_id="p"), *ROWS, aggregates=[kept]) == {
        "h1": "reserved for other projects"
    }
    assert refused(each, a_request(project_id="exchange"), *ROWS, aggregates=[kept]) == {}


def test_aggregates_may_keep_hosts_for_flavors():
    kept = an_aggregate("h1", instance_type="m1.huge, m1.giant")
    each = AggregateTypeAffinityFilter()
    tiny, huge = (a_request(flavor=a_flavor(name=name)) for name in ("m1.tiny", "m1.huge"))
    assert refused(each, tiny, *ROWS, aggregates=[kept]) == {"h1": "reserved for other flavors"}
    assert refused(each, huge, *ROWS, aggregates=[kept]) == {}
