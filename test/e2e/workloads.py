"""Real programs under load, each as a context manager: while it is open, the load runs.

Everything lives in a temporary folder, listens on a UNIX socket or on 127.0.0.1 only, and is gone
afterwards. Needs: root (PostgreSQL refuses to run as root, so it runs as user postgres).
"""
import contextlib
import glob
import os
import shutil
import signal
import socket
import subprocess
import time

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def find_program(*names):
    """The first of these programs, as a path; None when there is none."""
    for name in names:
        for path in [shutil.which(name), *sorted(glob.glob(name), reverse=True)]:
            if path and os.access(path, os.X_OK):
                return path
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not start within {seconds} s")
        time.sleep(0.05)


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def running(*command, **options):
    """Runs a command in a session of its own, and ends the whole session afterwards."""
    process = subprocess.Popen(command, start_new_session=True, **{**QUIET, **options})
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def postgres_pgbench(folder):
    """Own cluster on a UNIX socket; pgbench with its read-write script, four clients."""
    binaries = os.path.dirname(find_program("/usr/lib/postgresql/*/bin/initdb"))
    home = os.path.join(folder, "postgres")
    os.mkdir(home)
    for path in (folder, os.path.dirname(folder)):
        os.chmod(path, 0o755)
    shutil.chown(home, "postgres")
    run_as = ["runuser", "-u", "postgres", "--"]

    def run(*command):
        subprocess.run([*run_as, *command], check=True, cwd=home, timeout=120, **QUIET)

    run(f"{binaries}/initdb", "-D", f"{home}/data", "-A", "trust", "--no-sync")
    with running(*run_as, f"{binaries}/postgres", "-D", f"{home}/data", "-k", home,
                 "-c", "listen_addresses=", "-c", "fsync=off", cwd=home):
        wait_for(lambda: os.path.exists(f"{home}/.s.PGSQL.5432"), "postgres")
        pgbench = [f"{binaries}/pgbench", "-h", home, "-U", "postgres", "postgres"]
        run(f"{binaries}/psql", "-h", home, "-U", "postgres", "-c", "select 1")
        run(*pgbench, "-i", "-s", "3", "-q")
        with running(*run_as, *pgbench, "-c", "4", "-T", "120", cwd=home):
            time.sleep(0.5)
            yield "postgres"


@contextlib.contextmanager
def redis_benchmark(folder):
    port = free_port()
    with running("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                 "--dir", folder):
        wait_for(lambda: is_listening(port), "redis-server")
        with running("redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-t",
                     "set,get,lpush,lrange_100", "-n", "1000000", "-l", "-c", "20"):
            time.sleep(0.3)
            yield "redis-server"


@contextlib.contextmanager
def nginx_wrk(folder):
    """One worker that serves a file of 4 KiB from 127.0.0.1."""
    port = free_port()
    os.chmod(folder, 0o755)
    with open(f"{folder}/index.html", "w", encoding="utf-8") as page:
        page.write("x" * 4096)
    with open(f"{folder}/nginx.conf", "w", encoding="utf-8") as config:
        config.write(f"""
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
""")
    for path in (folder, os.path.dirname(folder)):
        os.chmod(path, 0o755)
    with running("nginx", "-c", f"{folder}/nginx.conf", "-g", "daemon off;"):
        wait_for(lambda: is_listening(port), "nginx")
        with running("wrk", "-t1", "-c16", "-d120s", f"http://127.0.0.1:{port}/index.html"):
            time.sleep(0.3)
            yield "nginx"


@contextlib.contextmanager
def make_cxx(folder):
    """make -j2 of generated C++ files, again and again."""
    names = [f"unit{number}" for number in range(4)]
    for name in names:
        with open(f"{folder}/{name}.cc", "w", encoding="utf-8") as source:
            source.write(f"""
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> {name}(const std::string& text) {{
  std::map<std::string, std::vector<int>> words;
  std::regex word("[a-z]+");
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
    words[at->str()].push_back(static_cast<int>(at->position()));
  for (auto& entry : words) std::sort(entry.second.begin(), entry.second.end());
  return words;
}}
""")
    compiler = find_program("/usr/bin/g++")
    with open(f"{folder}/Makefile", "w", encoding="utf-8") as makefile:
        objects = " ".join(f"{name}.o" for name in names)
        makefile.write(f"all: {objects}\n%.o: %.cc\n\t{compiler} -O2 -c -o $@ $<\n")
    loop = "while make -s -j2 all; do rm -f *.o; done"
    with running("sh", "-c", loop, cwd=folder):
        time.sleep(0.3)
        yield "cc1plus"
