"""Where Roost's Placement answers otherwise than Placement's own tests expect, by the reasons.

A reason is a term of "What is not" in doc/placement_api.rst, which explains it. Requests that
write, and the numbers of generations, are not here: ``placement_files.py`` says what is tested of
them.
"""

from typing import Final

WRITING: Final = "Writing"
CUSTOM_NAMES: Final = "Custom names that no host has"
WAYS: Final = "Shared providers, and several ways to place on one node"
UNITS: Final = "Parts with ``VCPU``, ``MEMORY_MB``, ``DISK_GB`` or ``PCPU``"
CONSUMERS: Final = "Types of consumers"
HTTP: Final = "CORS, ``OPTIONS``, and errors other than JSON"
WORDS: Final = "The words of some errors"

# reason -> file -> names of tests, with wildcards
DIFFERENCES: Final = {
    WRITING: {
        "allocations-1.28": ["put that allocation to * consumer"],
        "basic-http": ["405 on bad method *"],
        "resource-provider": ["get provider has new parent and root provider UUID field"],
    },
    CUSTOM_NAMES: {
        "resource-classes": [
            "confirm the correct post",
            "get resource class works with no accept",
            "list resource classes after addition of custom res class",
        ],
        "resource-classes-last-modified": ["get custom class"],
        "resource-classes-legacy-rbac": ["project admin can show resource class"],
        "resource-classes-policy": ["show resource class"],
        "resource-classes-secure-rbac": ["* can show resource class"],
        "traits": [
            "get a trait",
            "list traits",
            "list traits with name=in filter",
            "list traits with prefix",
            "get trait 1.14 no cache headers",
            "get trait 1.15 has cache headers",
        ],
        "traits-legacy-rbac": ["project admin can show trait"],
        "traits-policy": ["show trait"],
        "traits-secure-rbac": ["* can show trait"],
    },
    WAYS: {
        "allocation-candidates": [
            "get allocation candidates no allocations yet",
            "get allocation candidates 1.12 dictish",
            "get allocation candidates with multiple limits picks the first one",
            "get allocation candidates without traits summary in old version",
            "get allocation candidates with required trait",
            "get allocation candidates with forbidden trait",
            "get allocation candidates with multiple required traits",
            "get allocation candidates only nested provider *",
            "get allocation candidates root and nested *",
            "get allocation candidates shared and nested old microversion",
            "get allocation candidates in tree with root",
            "get allocation candidates in tree with child",
            "get allocation candidates in_tree root granular child resource",
            "get allocation candidates in_tree child granular child resource",
            "get allocation candidates in tree granular shared storage",
            "get allocation candidates in tree unnumbered compute granular disk from shared *",
            "get allocation candidates in tree granular compute and granular shared storage",
        ],
        "allocation-candidates-any-traits": [
            "get candidates with both OR, AND, and NOT trait queries",
            "get candidates with multiple OR queries",
        ],
        "allocation-candidates-bug-1792503": [
            "get allocation candidates without aggregate",
            "get allocation candidates with aggregate ?",
            "get allocation candidates with shared storage",
            "get allocation candidates with shared storage with aggregate [AC]",
            "get allocation candidates with shared storage without aggregate [BC]",
            "get allocation candidates with shared storage in *",
            "get allocation candidates with shared storage neither in *",
            "get allocation candidates with aggregate C granular",
        ],
        "allocation-candidates-mappings-numa": [
            "simple mapping non granular",
            "no mappings in 1.33",
            "simple isolated mapping",
            "granular plus not granular",
            "granular two resources on one suffix",
        ],
        "allocation-candidates-mappings-sharing": [
            "simple mapping with shared",
            "group mapping with shared",
        ],
        "allocation-candidates-root-required": [
            "trait exists on root and child in separate trees case 1 unsuffixed required",
            "limit to multiattach-capable unsuffixed no sharing",
            "limit to multiattach-capable separate granular no isolate no sharing",
            "limit to multiattach-capable separate granular isolate no sharing",
            "limit to multiattach-capable unsuffixed sharing",
            "limit to multiattach-capable granular sharing",
            "trait exists on root and child in separate trees case 2 unsuffixed root_required",
            "trait exists on root and child in separate trees case 3 suffixed required",
            "trait exists on root and child in separate trees case 4 suffixed root_required",
            "no filtering for a forbidden trait that is on children in one tree and absent *",
            "forbidden trait on a sharing root",
            "combine required with irrelevant forbidden",
            "redundant required and forbidden",
            "isolate foo granular sharing",
        ],
        "allocations-1.28": ["get candidates with shared"],
        "shared-resources": ["get allocation candidates shared"],
        "allocation-candidates-any-traits-groups": [
            "a VM with single port on the multi-segment network",
            "a VM with two ports on the multi-segment network limited bandwidth",
            "a VM with two ports on the multi-segment network",
        ],
        "granular": [
            "disk sharing isolated",
            "disk sharing non-isolated",
            "isolated ssd",
            "no isolation, forbid ssd",
            "required, forbidden, member_of in",
            "required, forbidden, member_of in long suffix",
            "multiple member_of",
            "multiple disks, multiple networks",
            "combining request groups exceeds capacity",
        ],
        "granular-same-subtree": [
            "no resourceless without same subtree",
            "no resourceless with single same subtree",
            "no resourceless with same subtree",
            "no resourceless with same subtree same provider",
            "resourceful without same subtree",
            "resourceless with same subtree 2VFs",
            "resourceless with same subtree 2VFs isolate",
            "resourceless with same subtree 2+1+1 VFs",
            "resourceless with same subtree 2+1+1 VFs isolate",
            "resourceless with same subtree 2FPGAs",
            "duplicate suffixes are squashed",
            "overlapping same_subtreeZ",
            "combined same_subtree",
            "same_subtree with an ancestry hole",
        ],
        "same-subtree-deep": [
            "deep subtree 2VFs, one compute",
            "deep subtree 2VFs, with foo",
            "deep subtree 2VFs, no foo",
        ],
    },
    UNITS: {
        "inventory": [
            "get that inventory",
            "confirm inventory change",
            "get list of inventories",
        ],
        "reshaper": [
            "get usages on parent after move",
            "get usages on child after move",
            "get usages on parent after move back",
        ],
    },
    CONSUMERS: {
        "consumer-types-1.38": [
            "usages include consumer_type",
            "limit usages by consumer_type",
            "limit usages by unknown",
            "confirm reshaped allocations",
        ],
        "consumer-types-bug-story-2009167": [
            'get allocation with 1.38 expected "unknown" consumer_type'
        ],
        "ensure-consumer": ["get with 1.12 microversion and check project and user are filled"],
    },
    HTTP: {
        "allocations-post": ["confirm only POST"],
        "basic-http": ["405 on bad options method on app"],
        "bug-1674694": ["404 with other accept"],
        "cors": ["valid * request"],
        "microversion": ["other accept header bad version"],
        "non-cors": ["options request not allowed"],
        "reshaper": ["reshaper is POST only"],
    },
    WORDS: {
        "allocation-candidates": [
            "get bad limit type",
            "get bad limit value *",
            "get allocation candidates in tree with invalid uuid",
        ],
        "allocation-candidates-member-of": ["negative agg error on orphaned queryparam"],
        "granular": [
            "bogus suffix",
            "bogus length",
        ],
        "traits": [
            "list traits with invalid format of name parameter",
            "get associated traits with invalid value",
        ],
        "usage": ["get total usages *_id * length"],
        "allocation-candidates-root-required": [
            "conflicting required and forbidden",
            "multiple root_required is an error",
        ],
        "granular-same-subtree": [
            "resourceless traits without same_subtree",
            "resourceless aggs without same_subtree",
            "resourceless without any resource",
            "invalid same subtree missing underscores",
            "invalid same subtree with empty suffix",
        ],
    },
}
