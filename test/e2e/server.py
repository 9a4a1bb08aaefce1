"""Runs `vesta server` on a folder and talks to it."""
import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import urllib.parse

WAIT_S = 20


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    def __init__(self, process, url):
        self.process = process
        self.url = url
        self.address = urllib.parse.urlsplit(url)

    def connect(self, ca_file=None):
        if self.address.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            return http.client.HTTPSConnection(self.address.hostname, self.address.port,
                                               timeout=WAIT_S, context=context)
        return http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=WAIT_S)

    def ask(self, method, target, body=None, headers=None, ca_file=None):
        connection = self.connect(ca_file)
        with contextlib.closing(connection):
            connection.request(method, target, body, headers or {})
            return Answer(connection.getresponse())

    def get(self, target, **more):
        return self.ask("GET", target, **more)

    def push(self, body, query="", **more):
        return self.ask("POST", "/api/v1/profiles" + query, body, **more)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)


@contextlib.contextmanager
def running_server(vesta, folder, *options, port=0):
    """A server on a port of this machine (0: a free one), stopped at the end."""
    command = [vesta, "server", "--data", str(folder), "--listen", f"127.0.0.1:{port}", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "GODEBUG": ""})
    try:
        line = process.stdout.readline()
        found = re.search(r"https?://[^ ,\n]+", line)
        assert found, line + process.stderr.read()
        yield Server(process, found.group())
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
