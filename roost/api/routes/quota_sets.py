"""Quotas of projects and of classes of them."""

from typing import Final

from roost.api.policies import quota_sets as policies
from roost.api.quota_sets import QuotaClassSets, QuotaSets
from roost.api.route import Route, row
from roost.api.schemas import quota_sets as schemas

_SET: Final = "/v2.1/os-quota-sets/{project_id}"
_CLASS: Final = "/v2.1/os-quota-class-sets/{class_name}"

ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_SET}", (QuotaSets, QuotaSets.show), policies.SHOW, query=schemas.QUERY),
    row(f"GET {_SET}/defaults", (QuotaSets, QuotaSets.show_defaults), policies.DEFAULTS),
    row(
        f"GET {_SET}/detail",
        (QuotaSets, QuotaSets.show_detail),
        policies.DETAIL,
        query=schemas.QUERY,
    ),
    row(
        f"PUT {_SET}",
        (QuotaSets, QuotaSets.update),
        policies.UPDATE,
        query=schemas.QUERY,
        body=schemas.UPDATE,
    ),
    row(
        f"DELETE {_SET}",
        (QuotaSets, QuotaSets.delete),
        policies.DELETE,
        query=schemas.QUERY,
        status=202,
    ),
    row(f"GET {_CLASS}", (QuotaClassSets, QuotaClassSets.show), policies.SHOW_CLASS),
    row(
        f"PUT {_CLASS}",
        (QuotaClassSets, QuotaClassSets.update),
        policies.UPDATE_CLASS,
        body=schemas.UPDATE_CLASS,
    ),
)
