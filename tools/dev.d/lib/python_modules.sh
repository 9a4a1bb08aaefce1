# Sourced by page_tools.sh, store_tools.sh and api_tools.sh: modules of Python that are no Debian packages.

# install_python_modules LIST FOLDER: what the list pins, into a plain folder of modules.
install_python_modules() {
  local list=$1 folder=$2
  # A virtual environment's pip, but a plain folder: that can be moved.
  /usr/bin/python3 -m venv "$folder/venv" &&
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      --require-hashes -r "$list" --target "$folder/modules" &&
    rm -rf "$folder/venv"
}
