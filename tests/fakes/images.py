"""An image store in memory, under the contract of ``roost.image.driver.ImageStore`` for reading."""

from roost import exception


class FakeImageStore:
    def __init__(self, *images):
        self.images = {image.id: image for image in images}

    def list_images(self):
        return list(self.images.values())

    def get(self, image_id):
        if image_id not in self.images:
            raise exception.NotFound(f"Image {image_id} could not be found.")
        return self.images[image_id]
