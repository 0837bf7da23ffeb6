"""The OpenStack services beside a rig: which, where, and what Roost is told of them."""

import stat
import types

import pytest

import roost.conf
from roost import exception
from roost.rig import clouds, lifecycle
from roost.rig.openstack.plan import NAMES, parse_names
from roost.rig.plan import new_plan

ALL = ("keystone", "glance", "neutron")


def planned(folder, *names, **values):
    values = {"cells": 1, "hosts": 1, "beside": names, **values}
    return new_plan(folder, **values)


def read(plan, name):
    plan.save()
    return roost.conf.load([], files=[str(plan.config_file(name))])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("glance", "glance needs keystone, which judges its tokens; say --with keystone,glance"),
        ("neutron,glance", "say --with keystone,neutron,glance"),
        ("keystone,cinder", "--with knows keystone, glance, neutron, but not 'cinder'"),
        ("", "--with must name some of keystone, glance, neutron"),
        (" , ", "--with must name some of keystone, glance, neutron"),
    ],
)
def test_what_is_wrong_with_the_names_is_told(words, told):
    with pytest.raises(exception.Invalid, match=told):
        parse_names(words)


def test_daemons_are_told_of_those_that_there_are(tmp_path):
    conf = read(planned(tmp_path, *ALL), "cell1-host1")
    assert (conf.image.store, conf.network.driver) == ("glance", "neutron")
    conf = read(planned(tmp_path, "keystone"), "cell1-host1")
    assert (conf.image.store, conf.network.driver) == ("local", "local")
    conf = read(planned(tmp_path), "api")
    assert conf.api.auth_strategy == "noauth"


def test_an_option_that_was_set_counts_before_what_the_services_want(tmp_path):
    overrides = {"neutron": {"vif_plugging_timeout": "7"}, "network": {"driver": "local"}}
    conf = read(planned(tmp_path, *ALL, overrides=overrides), "api")
    assert (conf.network.driver, conf.neutron.vif_plugging_timeout) == ("local", 7)
    assert conf.api.auth_strategy == "keystone"


def test_the_catalog_names_what_roost_serves_in_place_of_others(tmp_path):
    compute = "http://127.0.0.1:8774/v2.1"
    alone = planned(tmp_path, "keystone").openstack.endpoints(compute)
    assert (alone["compute"], alone["image"]) == (compute, "http://127.0.0.1:8774/image")
    among = planned(tmp_path, *ALL).openstack
    assert among.endpoints(compute)["network"] == among.url("neutron")
    assert alone["placement"] == "http://127.0.0.1:8774/placement"
    names = ["nova", "glance", "neutron", "placement", "keystone"]
    assert [NAMES[kind] for kind in alone] == names


def test_files_of_people_are_their_owners_alone(tmp_path):
    plan = planned(tmp_path, "keystone")
    plan.save()
    clouds.write(plan)
    for name, user in (("openrc", "demo"), ("openrc-admin", "admin"), ("clouds.yaml", "demo")):
        file = tmp_path / name
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert plan.openstack.passwords[user] in file.read_text()
    assert plan.openstack.passwords["admin"] not in (tmp_path / "openrc").read_text()


def test_what_did_not_start_is_told_with_its_last_words_and_what_to_do(tmp_path):
    plan = planned(tmp_path, "keystone")
    plan.save()
    plan.log_file("keystone").write_text("OSError: Address already in use\n")
    ended = types.SimpleNamespace(name="keystone", running=False, state="exited")
    supervisor = types.SimpleNamespace(list_processes=lambda: [ended])
    with pytest.raises(exception.Unavailable) as told:
        lifecycle._check_alive(plan, supervisor)
    assert "keystone ended at once" in told.value.message
    assert "Address already in use" in told.value.message
    assert f"roost-rig down --state {tmp_path}" in told.value.message
