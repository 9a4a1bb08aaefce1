"""The HTTP API as docs/openapi.yaml describes it, asked of a running server."""
import gzip
import json
import os
import re
import socket
import subprocess
import tempfile
import time

import pytest

from conftest import ROOT, VESTA
from server import running_server

TOOLS = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "vesta", "api-tools", "python")
DESCRIPTION = os.path.join(ROOT, "docs", "openapi.yaml")
FOLDED = b"main;parse 30\nmain;write 20\n"
ERROR_CODE = re.compile(r"^[a-z_]+$")
# Never answered by hand here: they need a fault, or a load that the unit tests make.
NOT_PROVOKED = {"500", "503", "504"}


def with_tools(code, *arguments, **more):
    """Runs Python that needs what api-tools has, apart from this process and its own pytest."""
    with tempfile.TemporaryDirectory() as folder:  # schemathesis leaves a folder where it is run
        return subprocess.run(["/usr/bin/python3", *code, *arguments], text=True,
                              capture_output=True, cwd=folder, timeout=600,
                              env={**os.environ, "PYTHONPATH": TOOLS,
                                   "PYTHONDONTWRITEBYTECODE": "1", **more})


@pytest.fixture(scope="module")
def description():
    done = with_tools(["-c", "import json, sys, yaml; "
                             "print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"], DESCRIPTION)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(VESTA, tmp_path_factory.mktemp("api") / "data") as running:
        answer = running.push(FOLDED, "?label.service=shop&label.version=1&counted_type=cpu")
        assert answer.status == 200, answer.body
        yield running


def resolve(description, item):
    while "$ref" in item:
        found = description
        for key in item["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        item = found
    return item


def operations(description):
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def parameters(description, operation):
    return [resolve(description, item) for item in operation.get("parameters", [])]


def test_the_server_serves_the_file_that_is_tested(server):
    with open(DESCRIPTION, "rb") as file:
        assert server.get("/openapi.yaml").body == file.read()


def test_file_and_server_have_the_same_paths_and_parameters(description, server):
    of_file = {}
    for method, path, operation in operations(description):
        names = {item["name"] for item in parameters(description, operation)
                 if item["in"] == "query"}
        of_file[method, path] = {re.sub(r"^label\..*", "label.*", name) for name in names}
    of_server = {(route["method"], route["path"]): set(route["parameters"])
                 for route in server.get("/api/v1/routes").json()}
    assert of_file == of_server


def test_file_and_server_have_the_same_formats(description, server):
    kinds = {"json": "application/json", "text": "text/plain", "folded": "text/plain",
             "html": "text/html", "page": "application/octet-stream",
             "pprof": "application/octet-stream"}
    routes = {(route["method"], route["path"]): route["formats"]
              for route in server.get("/api/v1/routes").json()}
    for method, path, operation in operations(description):
        formats = [item["schema"] for item in parameters(description, operation)
                   if item["name"] == "format"]
        expected = routes[method, path]
        assert (formats[0]["enum"] if formats else []) == expected, path
        if not formats:
            continue
        assert formats[0]["default"] == expected[0], path
        assert set(operation["responses"]["200"]["content"]) == {kinds[word] for word in expected}


def target_of(description, path, operation):
    """A target with all that is needed, and nothing else."""
    values = {"function": "parse", "before": "cpu", "name": "service"}
    needed = [item for item in parameters(description, operation) if item.get("required")]
    query = "&".join(f"{item['name']}={values[item['name']]}" for item in needed
                     if item["in"] == "query")
    return path.replace("{name}", values["name"]) + "?" + query


def test_each_operation_answers_as_the_file_says(description, server):
    for method, path, operation in operations(description):
        target = target_of(description, path, operation)
        # An empty message of OTLP is one.
        takes_otlp = path in ("/v1development/profiles", "/api/v1/symbols")
        body = None if method == "GET" else b"" if takes_otlp else FOLDED
        for more in ["", "&no_such=1"]:
            answer = server.ask(method, target + more, body)
            assert answer.status == (400 if more else 200), (target + more, answer.body)
            check_answer(description, operation, answer, target + more)
        foreign = server.ask(method, target, body, {"Host": "evil.example"})
        assert foreign.status == 403
        check_answer(description, operation, foreign, target)
        if method == "GET":
            check_answer(description, operation, server.ask("GET", target, b"x"), target)
            head = server.ask("HEAD", target)
            assert (head.status, head.body) == (200, b""), target


def check_answer(description, operation, answer, what):
    assert str(answer.status) in operation["responses"], (what, answer.status)
    response = resolve(description, operation["responses"][str(answer.status)])
    content_type = answer.headers["content-type"].split(";")[0]
    assert content_type in response["content"], what
    if answer.status != 200 and content_type == "text/plain":
        assert answer.headers["x-go-pprof"] == "1" and len(answer.body) > 10, what
    elif answer.status != 200:
        error = answer.json()["error"]
        assert ERROR_CODE.match(error["code"]) and len(error["message"]) > 10, what


def test_each_status_of_the_file_can_be_had(description, server, tmp_path):
    token = "0123456789abcdef"
    (tmp_path / "tokens").write_text(token + "\n")
    with running_server(VESTA, tmp_path / "data", "--token-file", tmp_path / "tokens") as closed:
        unauthorized = {(method, path)
                        for method, path, operation in operations(description)
                        if closed.ask(method, target_of(description, path, operation)).status == 401}
        assert closed.get("/api/v1/status",
                          headers={"Authorization": "Bearer " + token}).status == 200
    pushes = {
        "400": server.push(b""), "413": server.push(gzip.compress(bytes(300 << 20), 1)),
        "415": server.push(b"\x89PNG\r\n\x1a\n" + bytes(100)), "422": server.push(b"main -1\n")}
    for status, answer in pushes.items():
        assert str(answer.status) == status, answer.body
    against = server.ask("POST", "/v1development/profiles",
                         headers={"Vesta-Dictionary": "agent/boot/1"})
    assert against.status == 409, against.body
    for method, path, operation in operations(description):
        said = set(operation["responses"]) - NOT_PROVOKED
        had = {"200", "400", "403", "413"} | ({"401"} if (method, path) in unauthorized else set())
        if method == "POST":
            had |= set(pushes)
            if path.startswith("/v1development/"):
                had.add("409")
        elif "/api/v1/" in path and "422" in said:
            had.add("422")  # more memory than a question may use: src/server/api_test.cc
        assert said == had, path


def test_schemathesis_finds_nothing(tmp_path):
    with running_server(VESTA, tmp_path / "data") as server:
        assert server.push(FOLDED, "?label.service=shop&counted_type=cpu").status == 200
        done = with_tools(
            ["-m", "schemathesis.cli"], "run", DESCRIPTION, "--url", server.url, "--seed", "7",
            "--max-examples", "25", "--no-color", SCHEMATHESIS_HOOKS="api_hooks",
            PYTHONPATH=TOOLS + os.pathsep + os.path.dirname(__file__))
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        tested = re.search(r"Tested: (\d+)", done.stdout)
        assert tested and int(tested.group(1)) == len(server.get("/api/v1/routes").json())


@pytest.mark.needs_program("go")
def test_go_tool_pprof_opens_a_query(server, tmp_path):
    url = server.url + '/api/v1/profile?query=cpu{service="shop"}&from=-1d'
    done = subprocess.run(["go", "tool", "pprof", "-top", url], text=True, capture_output=True,
                          env={**os.environ, "PPROF_TMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert re.search(r"^ +\d+ 60.*parse$", done.stdout, re.M), done.stdout
    done = subprocess.run(["go", "tool", "pprof", "-top", server.url + "/api/v1/profile?query=cpu{"],
                          text=True, capture_output=True,
                          env={**os.environ, "PPROF_TMPDIR": str(tmp_path)})
    assert "position 5: expected the name of a label" in done.stderr, done.stderr


def test_curl_pushes_a_file(server, tmp_path):
    file = tmp_path / "cpu.pb.gz"
    url = server.url + '/api/v1/profile?query=cpu{service="shop"}'
    for command in [["curl", "-sfg", "-o", str(file), url],
                    ["curl", "-sfg", "--data-binary", f"@{file}",
                     server.url + "/api/v1/profiles?label.service=copy"]]:
        done = subprocess.run(command, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows_kept"] > 0
    shares = [[line.split()[1] for line in
               server.get(f"/api/v1/top?format=text&query=cpu%7Bservice=%22{name}%22%7D")
               .body.decode().splitlines() if "%" in line and "self" not in line]
              for name in ("shop", "copy")]
    assert shares[0] == shares[1] != []


def test_a_browser_gets_pages(server):
    front = server.get("/")
    assert front.headers["content-type"] == "text/html; charset=utf-8"
    for target in set(re.findall(r'href="(/[^"]*)"', front.body.decode())):
        assert server.get(target).status == 200, target
    target = f"/api/v1/tree?format=html&from={int(time.time()) - 3600}&to={int(time.time()) + 1}"
    page = server.get(target).body
    assert b"vestaPieces" in page and b"vesta-data-0" in page
    assert page == gzip.decompress(server.get(target, headers={"Accept-Encoding": "gzip"}).body)


def test_pages_of_others_are_refused(server):
    for headers in [{"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Origin": "http://127.0.0.1:1"}, {"Sec-Fetch-Site": "cross-site"}]:
        answer = server.push(FOLDED, headers={"Content-Type": "text/plain", **headers})
        assert answer.status == 403, headers
    assert server.get("/api/v1/tree", headers={"Origin": server.url}).status == 200


def test_refuses_to_listen_to_others_without_tls_and_tokens(tmp_path):
    done = subprocess.run([VESTA, "server", "--data", str(tmp_path / "data"), "--listen",
                           "0.0.0.0:0"], text=True, capture_output=True, timeout=20)
    assert done.returncode != 0
    for word in ("--tls-cert", "--token-file", "--insecure"):
        assert word in done.stderr


def make_certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)


def test_tls_and_tokens_with_scopes(tmp_path):
    make_certificate(tmp_path)
    reader, writer = "reader-0123456789", "writer-0123456789"
    (tmp_path / "tokens").write_text(f"# two\n{reader} read\n{writer} write\n")
    with running_server(VESTA, tmp_path / "data", "--tls-cert", tmp_path / "cert.pem", "--tls-key",
                        tmp_path / "key.pem", "--token-file", tmp_path / "tokens") as server:
        assert server.url.startswith("https://")

        def status(method, target, token, body=None):
            headers = {"Authorization": "Bearer " + token} if token else {}
            return server.ask(method, target, body, headers, ca_file=tmp_path / "cert.pem").status

        assert status("GET", "/healthz", None) == 200
        assert status("GET", "/api/v1/tree", None) == 401
        assert status("GET", "/api/v1/tree", reader + "x") == 401
        assert status("POST", "/api/v1/profiles", reader, FOLDED) == 403
        assert status("POST", "/api/v1/profiles", writer, FOLDED) == 200
        assert status("GET", "/api/v1/tree", writer) == 403
        assert status("GET", "/api/v1/tree", reader) == 200
        # Plain HTTP to a port of TLS.
        with socket.create_connection((server.address.hostname, server.address.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" not in plain.recv(1000)
        server.stop()
        assert reader not in server.process.stderr.read()


def test_commands_ask_over_tls_and_say_whom_they_do_not_trust(tmp_path):
    make_certificate(tmp_path)
    token = "admin-0123456789"
    (tmp_path / "tokens").write_text(token + "\n")
    (tmp_path / "no.pem").write_text("nothing\n")
    with running_server(VESTA, tmp_path / "data", "--tls-cert", tmp_path / "cert.pem", "--tls-key",
                        tmp_path / "key.pem", "--token-file", tmp_path / "tokens") as server:
        server.push(FOLDED, headers={"Authorization": "Bearer " + token},
                    ca_file=tmp_path / "cert.pem")

        def labels(*options, url=server.url):
            return subprocess.run([VESTA, "labels", "--server", url, *options], text=True,
                                  capture_output=True, timeout=60)

        ours = ("--ca-file", tmp_path / "cert.pem", "--token-file", tmp_path / "tokens")
        good = labels(*ours)
        assert good.returncode == 0 and "1 series" in good.stdout, good.stderr
        for options, words in [
                (ours[2:], [f"the certificate of {server.url} is not trusted (",
                            "self-signed", "give the file of who signed it by --ca-file"]),
                (ours[:2], ["--token-file"]),
                (("--ca-file", tmp_path / "no.pem"), ["no.pem is no readable PEM file"])]:
            bad = labels(*options)
            assert bad.returncode == 125, bad.stderr
            assert all(word in bad.stderr for word in words), bad.stderr
        plain = server.url.replace("https:", "http:")
        bad = labels(*ours, url=plain)
        assert bad.returncode == 125, bad.stderr
        assert f"{plain} ended the connection without an answer: is it the right" in bad.stderr


def metrics_of(server):
    text = server.get("/metrics").body.decode()
    return {name: float(value) for name, value in
            re.findall(r"^([a-z_]+(?:\{[^}]*\})?) ([0-9.e+-]+)$", text, re.M)}


def test_the_book_of_metrics_is_balanced(tmp_path):
    with running_server(VESTA, tmp_path / "data") as server:
        now_ms = int(time.time() * 1000)
        server.push(FOLDED)
        server.push(FOLDED, headers={"Vesta-Batch": "a/b/1"})
        server.push(FOLDED, headers={"Vesta-Batch": "a/b/1"})
        server.push(FOLDED, f"?time={now_ms + 3 * 86_400_000}")
        server.push(FOLDED, f"?time={now_ms - 400 * 86_400_000}")
        server.push(b"garbage")
        book = metrics_of(server)
        assert book["vesta_rows_received_total"] == 10
        assert book["vesta_rows_kept_total"] == 4
        assert book["vesta_rows_duplicate_total"] == 2
        assert book['vesta_rows_dropped_total{reason="too_new"}'] == 2
        assert book['vesta_rows_dropped_total{reason="too_old"}'] == 2
        requests = {key: value for key, value in book.items()
                    if key.startswith("vesta_http_requests_total") and "profiles" in key}
        assert requests == {
            'vesta_http_requests_total{method="POST",path="/api/v1/profiles",status="200"}': 5,
            'vesta_http_requests_total{method="POST",path="/api/v1/profiles",status="400"}': 1}


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) << 10


def test_bombs_take_no_more_memory_than_the_limit(tmp_path):
    """Ten at once, each of 4 GiB in 18 MB; the sum of all is bounded, too."""
    piece = gzip.compress(bytes(64 << 20), 1)
    bomb = piece * 64
    with running_server(VESTA, tmp_path / "data") as server:
        connections = [server.connect() for _ in range(10)]
        for connection in connections:
            connection.request("POST", "/api/v1/profiles", bomb)
        statuses = {connection.getresponse().status for connection in connections}
        assert statuses <= {413, 503} and 413 in statuses
        assert resident_bytes(server.process) < 700 << 20
        assert server.push(FOLDED).status == 200


def test_sigterm_answers_what_is_in_flight(tmp_path):
    with running_server(VESTA, tmp_path / "data") as server:
        connection = server.connect()
        connection.putrequest("POST", "/api/v1/profiles")
        connection.putheader("Content-Length", str(len(FOLDED)))
        connection.endheaders()
        connection.send(FOLDED[:10])
        time.sleep(0.3)
        server.process.terminate()
        time.sleep(0.3)
        connection.send(FOLDED[10:])
        assert connection.getresponse().status == 200
        assert server.process.wait(10) == 0
