"""Check a chat model of your own: a suite of tests, and a scripted server for it to talk to."""

from recollect.testing.models.conformance import ChatModelConformance, ModelRig
from recollect.testing.models.script import JSON_FAULTS, SCHEMA, Fault, ScriptedReply
from recollect.testing.models.server import ScriptedModelServer, SeenRequest, ServerProtocol, WireProtocol
from recollect.testing.models.vectors import VECTOR_DIMENSIONS, VectorFault, vector_of

__all__ = [
    "JSON_FAULTS",
    "SCHEMA",
    "VECTOR_DIMENSIONS",
    "ChatModelConformance",
    "Fault",
    "ModelRig",
    "ScriptedModelServer",
    "ScriptedReply",
    "SeenRequest",
    "ServerProtocol",
    "VectorFault",
    "WireProtocol",
    "vector_of",
]
