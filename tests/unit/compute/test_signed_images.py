"""Images of servers that ask for signed ones: nothing is made of one that is not."""

import dataclasses

import pytest

from roost import states
from roost.compute.image_cache import ImageCache
from roost.image.signatures import CertificateFolder, Signatures
from roost.operations.kinds import OF_TASK
from tests.builders import a_uuid
from tests.unit.compute.conftest import run


@pytest.fixture
def strict(rig, tmp_path):
    """Let the host be able to verify."""
    signatures = Signatures(CertificateFolder(tmp_path))
    images = ImageCache(rig.store, folder=tmp_path / "strict", signatures=signatures)
    rig.host = dataclasses.replace(rig.host, images=images)
    return rig


def test_a_server_is_not_built_of_an_image_that_is_not_signed(strict, boot):
    instance = strict.instance(trusted_certs=[a_uuid()])
    boot(strict.manager(), instance)
    assert not strict.virt.exists(instance.uuid)
    ((uuid, _host, _attempt, why),) = strict.conductor.abandoned  # and no other host is tried
    assert uuid == instance.uuid
    assert "it is not signed: it has no img_signature" in why


@pytest.mark.parametrize("task", [states.REBUILDING, states.RESCUING])
def test_neither_is_one_rebuilt_or_rescued(strict, boot, task):
    manager, instance = strict.manager(), strict.instance()
    boot(manager, instance)
    before = strict.virt.contents(instance.uuid)
    instance.task_state = task
    strict.conductor.images[instance.uuid] = strict.image
    instance.attempt += task == states.REBUILDING
    instance.trusted_certs = [a_uuid()]
    run(manager, instance, kind=OF_TASK[task].name)
    assert strict.virt.contents(instance.uuid) == before
    assert "it is not signed" in strict.conductor.faults[instance.uuid]
