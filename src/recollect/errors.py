"""Every error Recollect raises, in one tree.

Errors carry ids and limits, never user text, and know nothing of HTTP.

    RecollectError
    ├─ NotFoundError
    │  ├─ ConversationNotFoundError
    │  ├─ MessageNotFoundError
    │  ├─ ContextNotFoundError
    │  ├─ MemoryNotFoundError
    │  ├─ NoteNotFoundError
    │  └─ JobNotFoundError
    ├─ InvalidInputError
    │  ├─ InvalidMessageError
    │  ├─ InvalidCursorError
    │  ├─ InvalidLimitError
    │  └─ InvalidNoteOperationError
    ├─ ConflictError
    │  ├─ StaleVersionError
    │  ├─ ErasedError
    │  ├─ RequestInFlightError
    │  └─ IdempotencyMismatchError
    ├─ LimitExceededError
    │  └─ RateLimitedError
    ├─ UnauthenticatedError
    ├─ PermissionDeniedError
    ├─ StorageError
    │  ├─ StorageUnavailableError
    │  ├─ StorageLockedError
    │  ├─ MigrationRequiredError
    │  └─ CorruptRecordError
    ├─ CacheError
    ├─ ProviderError
    │  ├─ ProviderUnavailableError
    │  │  └─ CircuitOpenError
    │  ├─ ProviderRejectedError
    │  └─ ProviderOutputError
    ├─ StrategyError
    ├─ MissingExtraError
    └─ SettingsError
"""

from __future__ import annotations


class RecollectError(Exception):
    """Something went wrong in Recollect."""

    #: Stable machine-readable name, part of the wire contract.
    code = "internal_error"


class NotFoundError(RecollectError):
    """Nothing with this id exists in the caller's scope."""

    code = "not_found"


class ConversationNotFoundError(NotFoundError):
    """There is no such conversation in the caller's scope."""

    code = "conversation_not_found"


class MessageNotFoundError(NotFoundError):
    """There is no such message in this conversation."""

    code = "message_not_found"


class ContextNotFoundError(NotFoundError):
    """It is not known what a model was told for this message."""

    code = "context_not_found"


class MemoryNotFoundError(NotFoundError):
    """There is no such memory in the caller's scope."""

    code = "memory_not_found"


class NoteNotFoundError(NotFoundError):
    """There is no such version of this agent's note."""

    code = "note_not_found"


class JobNotFoundError(NotFoundError):
    """There is no such job, or its lease is held by another worker."""

    code = "job_not_found"


class InvalidInputError(RecollectError):
    """A value given by the caller cannot be accepted as it is."""

    code = "invalid_input"


class InvalidMessageError(InvalidInputError):
    """A message given by the caller cannot be stored as it is."""

    code = "invalid_message"


class InvalidCursorError(InvalidInputError):
    """A page position does not belong to this list."""

    code = "invalid_cursor"


class InvalidLimitError(InvalidInputError):
    """A limit is outside its range."""

    code = "invalid_limit"


class InvalidNoteOperationError(InvalidInputError):
    """A note operation is unknown or cannot be applied to this note."""

    code = "invalid_note_operation"


class ConflictError(RecollectError):
    """The object is not in the state that the caller expected."""

    code = "conflict"


class StaleVersionError(ConflictError):
    """The object was changed by someone else; read it again, then retry."""

    code = "stale_version"


class ErasedError(ConflictError):
    """Something with this id was erased and cannot be written again."""

    code = "erased"


class RequestInFlightError(ConflictError):
    """A request with this idempotency key is still running; wait, then retry."""

    code = "request_in_flight"


class IdempotencyMismatchError(ConflictError):
    """This idempotency key was used with other content; use a new key."""

    code = "idempotency_mismatch"


class LimitExceededError(RecollectError):
    """A size, rate or count limit was reached."""

    code = "limit_exceeded"


class RateLimitedError(LimitExceededError):
    """The caller asks too often; wait, then retry."""

    code = "rate_limited"


class UnauthenticatedError(RecollectError):
    """Who calls is not known."""

    code = "unauthenticated"


class PermissionDeniedError(RecollectError):
    """The caller is known but may not do this."""

    code = "permission_denied"


class StorageError(RecollectError):
    """The store could not do its work."""

    code = "storage_error"


class StorageUnavailableError(StorageError):
    """The store cannot be reached or written right now; nothing was acknowledged."""

    code = "storage_unavailable"


class StorageLockedError(StorageError):
    """Another process holds the database for a migration or a restore."""

    code = "storage_locked"


class MigrationRequiredError(StorageError):
    """The database has another schema version than this program."""

    code = "migration_required"


class CorruptRecordError(StorageError):
    """A stored record does not match its checksum."""

    code = "corrupt_record"

    def __init__(self, kind: str, record_id: str = "") -> None:
        super().__init__(f"{kind} {record_id!r} does not match its checksum")
        self.kind = kind
        self.record_id = record_id


class CacheError(RecollectError):
    """The cache failed; it never leaves the service layer."""

    code = "cache_error"


class ProviderError(RecollectError):
    """A model provider failed."""

    code = "provider_error"


class ProviderUnavailableError(ProviderError):
    """The provider cannot be reached or is overloaded."""

    code = "provider_unavailable"


class CircuitOpenError(ProviderUnavailableError):
    """The provider failed repeatedly and is not called until it recovers."""

    code = "circuit_open"


class ProviderRejectedError(ProviderError):
    """The provider refused the request."""

    code = "provider_rejected"

    def __init__(self, *args: object, status: int = 0) -> None:
        super().__init__(*args)
        #: The HTTP status of the refusal, or 0 if there was none.
        self.status = status


class ProviderOutputError(ProviderError):
    """The provider answered something that cannot be used."""

    code = "provider_output"

    def __init__(self, *args: object, raw: str = "") -> None:
        super().__init__(*args)
        #: What it answered, where a person needs it to see the fault: cut, without secrets, and in no log.
        self.raw = raw


class StrategyError(RecollectError):
    """A strategy failed after the messages were stored, and the settings say to tell."""

    code = "strategy_failed"


class MissingExtraError(RecollectError):
    """An optional part was asked for whose packages are not installed."""

    code = "missing_extra"


class SettingsError(RecollectError):
    """A setting is wrong and too important to fall back from."""

    code = "invalid_settings"


#: The names that the unified design documents use for the same errors.
DataValidationError = InvalidInputError
GenericMemoryError = (StorageError, ProviderError, StrategyError)
SessionNotFoundError = ConversationNotFoundError
