"""An image store in memory: ``EditableImageStore``, as far as the api uses it."""

import hashlib
import io

from roost import exception
from roost.image.driver import ACTIVE, QUEUED, is_own, may_see
from roost.objects import ImageMeta


class FakeImageStore:
    def __init__(self, *images):
        self.images = {image.id: image for image in images}
        self.trouble = None  # raised instead of every answer
        self.data = {}
        self.shared = {}

    def list_images(self, context):
        return [image for image in self.images.values() if self._is_seen(context, image)]

    def get(self, context, image_id):
        if self.trouble:
            raise self.trouble
        if image_id not in self.images or not self._is_seen(context, self.images[image_id]):
            raise exception.NotFound(f"Image {image_id} could not be found.")
        return self.images[image_id]

    def add(self, context, **values):
        raise NotImplementedError

    def create(self, _context, image):
        if self.trouble:
            raise self.trouble
        if image.id in self.images:
            raise exception.Conflict(f"There is an image {image.id} already.")
        self.images[image.id] = image
        return image

    def upload(self, context, image_id, data):
        image = self._own(context, image_id)
        if image.status != QUEUED:
            raise exception.Conflict(f"Image {image_id} has its data already.")
        self.data[image_id] = whole = b"".join(iter(lambda: data.read(4), b""))
        told = {"hash_algo": "sha256", "hash_value": hashlib.sha256(whole).hexdigest()}
        return self._put(image, status=ACTIVE, size=len(whole), **told)

    def abandon(self, _context, image_id):
        if image_id in self.images and self.images[image_id].status == QUEUED:
            del self.images[image_id]

    def change(self, context, image_id, edit):
        return self._put(edit(self._own(context, image_id)))

    def change_properties(self, context, image_id, edit):
        image = self._own(context, image_id)
        return self._put(image, properties=dict(edit(image.properties)))

    def delete(self, context, image_id):
        if self._own(context, image_id).protected:
            raise exception.Forbidden(f"Image {image_id} is protected and cannot be deleted.")
        del self.images[image_id]

    def members(self, context, image_id):
        return self.shared.get(self.get(context, image_id).id, [])

    def change_members(self, context, image_id, edit):
        self.shared[image_id] = edit(self.members(context, image_id))

    def open(self, context, image_id):
        return io.BytesIO(self.data.get(self.get(context, image_id).id, b"test"))

    def _is_seen(self, context, image):
        return may_see(context, image, lambda: self.shared.get(image.id, []))

    def _own(self, context, image_id):
        image = self.get(context, image_id)
        if not is_own(context, image):
            raise exception.Forbidden(f"Image {image_id} belongs to another project.")
        return image

    def _put(self, image, **changes):
        self.images[image.id] = ImageMeta.of(**image.values() | changes)
        return self.images[image.id]
