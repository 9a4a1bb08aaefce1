"""An OTLP receiver that we did not build on vesta's code, and that misbehaves as it is told.

It unpacks what it is sent with libzstd, reads it with OpenTelemetry's messages, and keeps which
batches it took, how many rows each had, and which of them it said it has.
"""
import contextlib
import ctypes
import socket
import ssl
import struct
import threading
import time
from collections import namedtuple

import otlp_messages

Took = namedtuple("Took", "agent boot sequence rows acknowledged at packed_bytes")


class Zstd:
    """Unpacks frames, also those that refer to earlier plain bytes."""

    def __init__(self):
        self.library = ctypes.CDLL("libzstd.so.1")
        for name in ("ZSTD_createDCtx", "ZSTD_getFrameContentSize", "ZSTD_decompressDCtx",
                     "ZSTD_DCtx_refPrefix", "ZSTD_freeDCtx"):
            getattr(self.library, name).restype = (
                ctypes.c_void_p if name == "ZSTD_createDCtx" else ctypes.c_uint64)

    def unpack(self, packed, prefix=b""):
        size = self.library.ZSTD_getFrameContentSize(packed, ctypes.c_size_t(len(packed)))
        room = ctypes.create_string_buffer(size if size < 1 << 28 else 1 << 28)
        context = ctypes.c_void_p(self.library.ZSTD_createDCtx())
        try:
            self.library.ZSTD_DCtx_refPrefix(context, prefix, ctypes.c_size_t(len(prefix)))
            done = self.library.ZSTD_decompressDCtx(context, room, ctypes.c_size_t(len(room)),
                                                    packed, ctypes.c_size_t(len(packed)))
        finally:
            self.library.ZSTD_freeDCtx(context)
        if done > len(room):
            raise ValueError("this is no zstd frame")
        return room.raw[:done]


def answer(status, body=b"", *headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


# It keeps the batches that it takes, so that the next ones may refer to them.
EMPTY = answer("200 OK", b"", "Content-Type: application/x-protobuf", f"Vesta-Dictionary: {4 << 20}")


def refusal(status, code, message, *headers):
    body = f'{{"error":{{"code":"{code}","message":"{message}"}}}}'.encode()
    return answer(status, body, "Content-Type: application/json", *headers)


# mode: (whether the receiver keeps the batch before it answers, what it answers). "hang" says
# nothing; what is not a whole answer is followed by the end of the connection.
ANSWERS = {
    "take": (True, EMPTY),
    "busy": (False, refusal("429 Too Many Requests", "busy", "too many", "Retry-After: 3")),
    "unavailable": (False, refusal("503 Service Unavailable", "unavailable", "not now",
                                   "Retry-After: 3")),
    "too large": (False, refusal("413 Content Too Large", "too_large", "the body is too large")),
    "unauthorized": (False, refusal("401 Unauthorized", "unauthorized", "a token is needed")),
    "broken": (False, answer("500 Internal Server Error", b"<html>oops</html>")),
    "moved": (False, answer("302 Found", b"", "Location: http://127.0.0.1:1/")),
    "half": (True, answer("200 OK", b"x" * 100)[:-60]),
    "reset": (True, b"HTTP/1.1 200 O"),
    "garbage": (True, b"\x00\xff\x13SSH-2.0-not-http\r\n\r\n"),
    "odd": (True, answer("200 OK", b"\xff\xff\xffthis is no protobuf",
                         "Content-Type: application/x-protobuf")),
    "hang": (False, b""),
}


class OtlpReceiver:
    """Listens on 127.0.0.1. `mode` (a key of ANSWERS) and `tls` (a context) may change at any time;
    each connection has the `tls` of its begin."""

    def __init__(self, mode="take", tls=None):
        self.otlp, self.zstd = otlp_messages.load(), Zstd()
        self.mode, self.tls = mode, tls
        self.took, self.problems, self.refused_at = [], [], []
        self.plain = {}  # the newest bodies, by batch, the one that was of no use for longest first
        self.lock = threading.Lock()
        self.connections, self.listener, self.port = set(), None, 0
        self.reopen()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def reopen(self):
        """Listens, at the port of before."""
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self.listener.close()
        self.hang_up()

    def hang_up(self):
        """Ends all connections, so that the next request finds the mode of now."""
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(connection.close)
            if self.tls:
                connection = stack.enter_context(
                    self.tls.wrap_socket(connection, server_side=True))
            self.connections.add(connection)
            stack.callback(self.connections.discard, connection)
            reader = stack.enter_context(connection.makefile("rb"))
            while self._exchange(connection, reader):
                pass

    def _exchange(self, connection, reader):
        line = reader.readline()
        if not line:
            return False
        target, headers = line.split()[1].decode(), {}
        while (line := reader.readline().strip()):
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        body = reader.read(length)
        if len(body) < length:  # hung up
            return False
        with self.lock:
            mode = self.mode
            said = self._judge(mode, target, headers, body)
        if mode == "hang":
            while self.mode == "hang" and connection in self.connections:
                time.sleep(0.1)
            return False
        connection.sendall(said)
        if mode == "reset":  # RST instead of FIN
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return mode not in ("reset", "half", "garbage")

    def _judge(self, mode, target, headers, body):
        is_kept, said = ANSWERS[mode]
        if not is_kept:
            self.refused_at.append(time.monotonic())
        if not is_kept or target != "/v1development/profiles":
            return said
        prefix = headers.get("vesta-dictionary")
        if prefix is not None and prefix not in self.plain:
            return refusal("409 Conflict", "dictionary_unknown", "that batch is not here")
        if prefix is not None:
            self.plain[prefix] = self.plain.pop(prefix)  # used last
        try:
            plain = self.zstd.unpack(body, self.plain.get(prefix, b""))
            request = self.otlp.Request.FromString(plain)
            self._keep(request, plain, mode in ("take", "odd"), len(body))
        except Exception as error:  # told by the test
            self.problems.append(f"{type(error).__name__}: {error}")
        return said

    def _keep(self, request, plain, is_acknowledged, packed_bytes):
        scopes = [scope for resource in request.resource_profiles
                  for scope in resource.scope_profiles]
        facts = {a.key: otlp_messages.value_of(a.value) for a in scopes[0].scope.attributes}
        rows = sum(len(sample.timestamps_unix_nano) for scope in scopes
                   for profile in scope.profiles for sample in profile.samples)
        batch = Took(facts["vesta.batch.agent"], facts["vesta.batch.boot"],
                     facts["vesta.batch.sequence"], rows, is_acknowledged, time.monotonic(),
                     packed_bytes)
        self.took.append(batch)
        name = f"{batch.agent}/{batch.boot}/{batch.sequence}"
        self.plain.pop(name, None)
        self.plain[name] = plain
        while len(self.plain) > 4:
            self.plain.pop(next(iter(self.plain)))


def tls_context(folder, name, authority=None, days=1, host="127.0.0.1"):
    """(context, certificate file) of a server. days <= 0: it has expired; authority: the name of
    the one that vouches for it, made by make_authority; None: it vouches for itself."""
    from subprocess import DEVNULL, run
    key, certificate, request = (f"{folder}/{name}.{kind}" for kind in ("key", "pem", "csr"))
    extension = f"subjectAltName=IP:{host}" if host[0].isdigit() else f"subjectAltName=DNS:{host}"
    quiet = {"check": True, "stdout": DEVNULL, "stderr": DEVNULL}
    new = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
           "-keyout", key, "-subj", f"/CN={name}"]
    if authority is None:
        run([*new, "-x509", "-out", certificate, "-addext", extension, "-days", "1"], **quiet)
    else:
        run([*new, "-out", request], **quiet)
        with open(f"{folder}/{name}.ext", "w", encoding="utf-8") as file:
            file.write(extension)
        run(["openssl", "x509", "-req", "-in", request, "-CA", f"{folder}/{authority}.pem",
             "-CAkey", f"{folder}/{authority}.key", "-CAcreateserial", "-out", certificate,
             "-days", str(days), "-extfile", f"{folder}/{name}.ext"], **quiet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate
