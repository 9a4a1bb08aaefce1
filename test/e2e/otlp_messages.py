"""OpenTelemetry's own messages of the profiles signal, which know nothing of us."""
import importlib
import os
import sys

MODULES = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "vesta",
                       "otlp-tools", "python")
MISSING = "needs OpenTelemetry's messages for Python: tools/dev deps test installs them"


def load():
    """The request's messages, and the module of those inside; None when they are not installed."""
    if not os.path.isdir(MODULES):
        return None
    sys.path.insert(0, MODULES)
    try:
        package = "opentelemetry.proto"
        service = importlib.import_module(
            f"{package}.collector.profiles.v1development.profiles_service_pb2")
        profiles = importlib.import_module(f"{package}.profiles.v1development.profiles_pb2")
        unknown = importlib.import_module("google.protobuf.unknown_fields")
    finally:
        sys.path.remove(MODULES)

    class Otlp:
        Request = service.ExportProfilesServiceRequest
        Response = service.ExportProfilesServiceResponse
        Fields = unknown.UnknownFieldSet
        messages = profiles
    return Otlp


def value_of(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))
