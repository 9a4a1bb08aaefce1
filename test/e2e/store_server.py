"""A `vesta server` as users run it, with the commands that ask it; test/e2e/server.py is for HTTP."""
import os
import select
import signal
import subprocess

from conftest import VESTA

START_SECONDS = 30


class StoreServer:
    """Keeps its store in FOLDER/store. `url` is where it listens."""

    def __init__(self, folder, *arguments):
        self.data = os.path.join(folder, "store")
        self.folder = folder
        self.process = subprocess.Popen(
            [VESTA, "server", "--data", self.data, "--listen", "127.0.0.1:0", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment())
        self.url = self._first_line().split()[2].rstrip(",")

    def _first_line(self):
        if select.select([self.process.stdout], [], [], START_SECONDS)[0]:
            line = self.process.stdout.readline()
            if line.startswith("ready at http"):
                return line
        self.process.kill()
        raise AssertionError(f"the server did not start: {self.process.communicate()}")

    def environment(self, url=None):
        found = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.folder}
        if url:
            found["VESTA_SERVER"] = url
        return found

    def run(self, *arguments, code=0, **options):
        """A command of vesta that asks this server."""
        done = subprocess.run([VESTA, *arguments], capture_output=True, text=True, timeout=120,
                              check=False, env=self.environment(self.url), **options)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done

    def stop(self, how=signal.SIGTERM, timeout=60):
        """The exit code, and what it wrote since its first line."""
        if self.process.stdout.closed:
            return self.process.returncode, ""
        if self.process.poll() is None:
            self.process.send_signal(how)
        stdout, stderr = self.process.communicate(timeout=timeout)
        return self.process.returncode, stdout + stderr
