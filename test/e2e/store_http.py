"""A `vesta server` of its own for a test or a bench, and what one asks it over HTTP.

Connections are plain sockets that stay open: a bench wants to time the server, not a library.
"""
import atexit
import json
import os
import select
import signal
import socket
import subprocess
import time
import urllib.parse

from conftest import VESTA


class ServerEnded(Exception):
    """The connection broke, or the server did not start."""


class Connection:
    """One connection that is kept; not for two threads at once."""

    def __init__(self, port, timeout_s=60):
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        except OSError as error:
            raise ServerEnded(f"cannot connect: {error}") from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = port
        self.rest = b""

    def close(self):
        self.socket.close()

    def head(self, method, target, size, headers):
        lines = [f"{method} {target} HTTP/1.1", f"Host: 127.0.0.1:{self.port}"]
        if size is not None:
            lines.append(f"Content-Length: {size}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def ask(self, method, target, body=None, headers=None):
        """(status, headers with lower-case names, body) of one exchange."""
        try:
            self.socket.sendall(self.head(method, target, None if body is None else len(body),
                                          headers or {}) + (body or b""))
            return self.answer()
        except OSError as error:
            raise ServerEnded(str(error)) from error

    def send_file(self, target, file, offset, size, headers):
        """As ask, with a part of a file as the body, which costs this process nearly nothing."""
        try:
            self.socket.sendall(self.head("POST", target, size, headers), socket.MSG_MORE)
            while size > 0:
                sent = os.sendfile(self.socket.fileno(), file, offset, size)
                offset, size = offset + sent, size - sent
            return self.answer()
        except OSError as error:
            raise ServerEnded(str(error)) from error

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self._receive()
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip()
                   for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            body = self._chunks()
        else:
            body = self._take(int(headers.get("content-length", 0)))
        return int(first.split()[1]), headers, body

    def _receive(self):
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise ServerEnded("the server closed the connection")
        self.rest += piece

    def _take(self, size):
        if len(self.rest) < size:
            pieces, have = [self.rest], len(self.rest)
            while have < size:
                piece = self.socket.recv(1 << 20)
                if not piece:
                    raise ServerEnded("the server closed the connection")
                pieces.append(piece)
                have += len(piece)
            self.rest = b"".join(pieces)
        body, self.rest = self.rest[:size], self.rest[size:]
        return body

    def _chunks(self):
        body = b""
        while True:
            while b"\r\n" not in self.rest:
                self._receive()
            line, _, self.rest = self.rest.partition(b"\r\n")
            size = int(line.split(b";")[0], 16)
            body += self._take(size)
            self._take(2)
            if size == 0:
                return body


def target(path, **parameters):
    """/api/v1/PATH?...; `label_x` stands for `label.x`, None for a parameter that is not there."""
    pairs = [("label." + name[6:] if name.startswith("label_") else name.rstrip("_"), value)
             for name, value in parameters.items() if value is not None]
    return f"/api/v1/{path}" + ("?" + urllib.parse.urlencode(pairs) if pairs else "")


class StoreServer:
    """Runs from its making until stop() or kill(); the folder stays."""

    def __init__(self, data, *options, wait_s=30, command=(), env=None):
        self.data = data
        started = time.monotonic()
        self.stderr_path = os.path.join(os.path.dirname(os.path.abspath(data)),
                                        os.path.basename(data) + ".stderr")
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                [*command, VESTA, "server", "--data", data, "--listen", "127.0.0.1:0", *options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, env=env)
        atexit.register(self.process.kill)  # whatever becomes of the test
        self.port = self._wait_for_port(started + wait_s)
        self.ready_s = time.monotonic() - started
        self.connection = None

    def _wait_for_port(self, deadline):
        ready, _, _ = select.select([self.process.stdout], [], [],
                                    max(0, deadline - time.monotonic()))
        line = self.process.stdout.readline().decode() if ready else ""
        if not line.startswith("ready at http://"):
            self.process.kill()
            self.process.wait()
            raise ServerEnded(f"no server: {self.process.returncode} {line!r} {self.stderr()}")
        return int(line.split()[2].rstrip(",/").rpartition(":")[2])

    def stderr(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def pid(self):
        return self.process.pid

    def ask(self, method, where, body=None, headers=None):
        """One exchange over this object's own connection, made again when it was closed."""
        if self.connection is None:
            self.connection = Connection(self.port)
        try:
            return self.connection.ask(method, where, body, headers)
        except ServerEnded:
            self.connection.close()
            self.connection = None
            raise

    def get(self, path, **parameters):
        """The JSON answer of /api/v1/PATH; other statuses than 200 fail."""
        status, _, body = self.ask("GET", target(path, **parameters))
        assert status == 200, f"{path} {parameters}: {status} {body[:1000]!r}"
        return json.loads(body)

    def push(self, body, batch=None, **parameters):
        """(status, JSON) of a push."""
        status, _, answer = self.ask("POST", target("profiles", **parameters), body,
                                     {"Vesta-Batch": batch} if batch else {})
        return status, json.loads(answer)

    def stop(self, timeout_s=60):
        """SIGTERM, as an operator does; gives the exit code."""
        self._forget_connection()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end by SIGTERM: {self.stderr()}") from None

    def kill(self):
        self._forget_connection()
        self.process.kill()
        self.process.wait()

    def _forget_connection(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def hot_files(data):
    """Files of past days' volumes that are still open; today's stays so."""
    today, found = time.strftime("%Y-%m-%d", time.gmtime()), []
    for folder, _, names in os.walk(os.path.join(data, "days")):
        if today not in folder.split(os.sep):
            found += [os.path.join(folder, name) for name in names
                      if name.startswith("hot.duckdb")]
    return found


def wait_until_settled(server, timeout_s):
    """Until all past days are closed: sealed, compacted, written down."""
    deadline = time.monotonic() + timeout_s
    while hot_files(server.data):
        if server.process.poll() is not None:
            raise ServerEnded(f"the server ended while it settled: {server.stderr()}")
        if time.monotonic() > deadline:
            raise AssertionError(f"still open after {timeout_s} s: {hot_files(server.data)}")
        time.sleep(0.2)
