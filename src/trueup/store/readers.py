"""Read sessions: each sees the store at one instant, and a few are kept open for the next reader.

Readers never wait for the writer. A kept connection that was lost meanwhile is replaced silently.
"""

import contextlib
import threading
from collections.abc import Iterator

from trueup.store.session import Backend, Session

_KEPT = 4


class Readers:
    """The read sessions of one store."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._idle: list[Session] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """A session for one reader. Converts a driver's errors into ours."""
        session: Session | None = None
        try:
            session = self._open()
            yield session
            session.rollback()
        except GeneratorExit:  # a caller that reads row by row stopped early
            self._drop(session)
            raise
        except BaseException as error:
            self._drop(session)
            told = self._backend.explain(error)
            if told is None:
                raise
            raise told from None
        self._keep(session)

    def close(self) -> None:
        """Close the kept sessions; sessions in use are closed when their readers are done."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()

    def _open(self) -> Session:
        with self._lock:
            session = self._idle.pop() if self._idle else None
        if session is not None:
            try:
                session.snapshot()
                return session
            except Exception as error:
                self._drop(session)
                if not self._backend.broken(error):
                    raise
        session = self._backend.connect()
        try:
            session.snapshot()
        except BaseException:
            self._drop(session)
            raise
        return session

    def _keep(self, session: Session) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(session)
                return
        session.close()

    def _drop(self, session: Session | None) -> None:
        if session is not None:
            with contextlib.suppress(Exception):  # it may already be broken
                session.close()
