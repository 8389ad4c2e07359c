"""Idempotency records in memory."""

from __future__ import annotations

from datetime import datetime

from recollect.domain.checks import as_utc, later
from recollect.domain.idempotency import Answer, IdempotencyRecord, RequestKey, RequestStart, first_answer
from recollect.domain.scope import Scope
from recollect.storage.inmemory.shelves import Shelves, UserData


def finish(data: UserData, answer: Answer, at: datetime) -> None:
    """Keep the answer for every retry, unless one is kept already."""
    record = data.requests.get(answer.request.key)
    if record is not None and record.status is not None:
        return
    started = as_utc(at) if record is None else record.started_at
    data.requests[answer.request.key] = IdempotencyRecord(
        request=answer.request, started_at=started, lease_until=started, status=answer.status, body=answer.body
    )


class Requests(Shelves):
    """Keep what was answered."""

    async def begin_request(self, scope: Scope, start: RequestStart) -> Answer | None:
        with self._writing(scope) as data:
            answer = first_answer(data.requests.get(start.request.key), start)
            if answer is None:
                data.requests[start.request.key] = IdempotencyRecord(
                    request=start.request,
                    started_at=as_utc(start.at),
                    lease_until=later(start.at, start.lease),
                )
            return answer

    async def finish_request(self, scope: Scope, answer: Answer, at: datetime) -> None:
        with self._writing(scope) as data:
            finish(data, answer, at)

    async def abandon_request(self, scope: Scope, request: RequestKey) -> None:
        with self._writing(scope) as data:
            record = data.requests.get(request.key)
            if record is not None and record.request == request and record.status is None:
                del data.requests[request.key]

    async def forget_requests(self, scope: Scope, before: datetime) -> int:
        with self._writing(scope) as data:
            old = [key for key, record in data.requests.items() if record.started_at < before]
            for key in old:
                del data.requests[key]
            return len(old)
