"""TLS in front of a service that knows none, with certificates of an authority of our own."""

import contextlib
import os
import pwd
import socket
import ssl
import threading

import trustme


class Authority:
    """Vouches for 127.0.0.1. ``ca`` is the file that clients are to trust."""

    def __init__(self, folder):
        self._folder = folder
        self._authority = trustme.CA()
        self._issued = self._authority.issue_cert("127.0.0.1", "localhost")
        self.ca = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(self.ca)
        self.certificate, self.key = self.files_for(None)

    def files_for(self, account):
        """Return certificate and key as files that a server under this account can read."""
        certificate, key = (self._folder / f"{account}-{kind}.pem" for kind in ("cert", "key"))
        self._issued.cert_chain_pems[0].write_to_path(certificate)
        self._issued.private_key_pem.write_to_path(key)
        key.chmod(0o600)
        if account is not None and os.geteuid() == 0:
            owner = pwd.getpwnam(account)
            for file in (certificate, key):
                os.chown(file, owner.pw_uid, owner.pw_gid)
        return certificate, key

    def context(self):
        """Return what a server in this process offers TLS with."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._issued.configure_cert(context)
        return context


class Terminator:
    """Listens for TLS on ``port`` of loopback, and passes on what comes, in plain.

    ``heard`` counts those who believed the certificate, and so said something.

    :param target: host and port of the service behind it
    """

    def __init__(self, target, context):
        self._target = target
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.heard = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain):
        with contextlib.suppress(OSError), plain:
            secret = self._context.wrap_socket(plain, server_side=True)
            with secret, socket.create_connection(self._target) as behind:
                if said := secret.recv(65536):
                    self.heard += 1
                    behind.sendall(said)
                    _pipe(secret, behind)


def _pipe(secret, plain):
    """Copy both ways until one side ends. One thread: a TLS socket is not for two."""
    secret.settimeout(0.02)
    plain.settimeout(0.02)
    while _copied(secret, plain) and _copied(plain, secret):
        pass


def _copied(source, sink):
    """Copy what there is; False when the source has ended."""
    try:
        data = source.recv(65536)
    except (TimeoutError, ssl.SSLWantReadError):
        return True
    sink.settimeout(10)
    sink.sendall(data)
    sink.settimeout(0.02)
    return bool(data)
