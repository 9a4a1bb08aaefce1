"""The oldest kernel that vesta runs on, and Debian 12's own: booted in QEMU. They refuse programs and
maps that newer ones take."""
import os
import subprocess
import sys

import pytest

from conftest import ROOT

RUN = os.path.join(ROOT, "test", "kernels", "run.py")


def can_download(version):
    try:
        done = subprocess.run([sys.executable, RUN, "--download", version], check=False,
                              capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@pytest.mark.needs_program("qemu-system-x86_64")
@pytest.mark.needs_program("busybox")
@pytest.mark.parametrize("version", ["5.10", "6.1"])
def test_records_under_linux(version):
    if not can_download(version):
        pytest.skip("Debian's kernel package cannot be downloaded")
    done = subprocess.run([sys.executable, RUN, version], check=False, capture_output=True, text=True,
                          timeout=900)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
