"""Interrupts a call in another thread: shuts down the HTTP connection that it waits on, or cancels the task that it runs in an event loop.

Takes a thread's id. It finds the connection in the thread's innermost frames, so it works for every HTTP library that is written in
Python. Other connections, such as database connections, are left alone, because an operation on them may have to be completed.
It does not raise anything inside the thread or take its locks: the call ends as if the network had failed.
"""

import contextlib
import gc
import os
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

_TALKS = frozenset({"recv", "recv_into", "read", "send", "sendall", "connect", "do_handshake", "makefile"})
_LINES = frozenset({"socket", "ssl"})  # modules between an HTTP library and the wait
_HTTP = ("http", "urllib")  # parts of the names of HTTP packages, such as `httpcore2` and `urllib3`
_NEAR = 3  # the most frames between the wait and the object with the socket
_RUNS = frozenset({"run_until_complete", "run"})  # functions that run an event loop until a task is done
_listing = threading.RLock()


def _forget_lock() -> None:
    """Make a new lock in a child process, because a thread of the parent may have held the old one."""
    global _listing
    _listing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)


def interrupt(thread: int, is_over: Callable[[], bool] = lambda: False) -> bool:
    """Interrupt what a thread waits on, unless the call `is_over`; return False if its wait cannot be interrupted.

    >>> interrupt(-1)
    False
    """
    frame = frames().get(thread)
    if frame is None:
        return False
    at = frame.f_lasti
    if is_over():  # check again: the thread may already be doing something else
        return False
    connection = _connection(frame)
    if connection is None:
        return _cancel_task(frame)
    now = frames().get(thread)
    if now is not frame or now.f_lasti != at:  # it has continued: another call may be using the connection
        return False
    with contextlib.suppress(OSError):
        # Use the base class: `ssl.SSLSocket.shutdown` removes the session that the thread is reading from.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    return True


def frames() -> dict[int, FrameType]:
    """The innermost frame of every thread, by the thread's id.

    CPython before 3.11.9 lists them under a lock that each new thread needs, and may collect garbage while it has the lock. If the collector
    then runs code that releases the GIL, the process hangs forever (python/cpython#106883). So the garbage collector is paused here.
    """
    if sys.version_info >= (3, 11, 9):
        return sys._current_frames()  # noqa: SLF001 - documented, in spite of its name
    with _listing:
        collects = gc.isenabled()
        gc.disable()
        try:
            return sys._current_frames()  # noqa: SLF001
        finally:
            if collects:
                gc.enable()


def _connection(frame: FrameType) -> socket.socket | None:
    """The socket that the innermost frames use, if it belongs to an HTTP library and no other call shares it."""
    found, speaker = None, None
    at: FrameType | None = frame
    for depth in range(2 * _NEAR):
        if at is None:
            break
        owner = at.f_locals.get("self")
        if type(owner).__name__ == "HTTP2Connection":  # other threads' calls use it too
            return None
        if found is None and depth < _NEAR and not _TALKS.isdisjoint(at.f_code.co_names):
            found = next((value for value in _held(at, owner) if isinstance(value, socket.socket)), None)
        if speaker is None and (module := at.f_globals.get("__name__", "")) not in _LINES:
            speaker = module
        at = at.f_back
    return found if speaker is not None and _speaks_http(speaker) else None


def _speaks_http(module: str) -> bool:
    return any(part.startswith(_HTTP) for part in module.split("."))


def _held(frame: FrameType, owner: Any) -> list[Any]:
    """The objects in a frame that may contain a socket: its own object, that object's members, and its variables."""
    return [owner, *getattr(owner, "__dict__", {}).values(), *frame.f_locals.values()]


def _cancel_task(frame: FrameType) -> bool:
    """Cancel the task that the thread runs an event loop for, if there is one. Other tasks in the loop do not belong to this call."""
    asyncio = sys.modules.get("asyncio")
    at: FrameType | None = frame if asyncio is not None else None
    while at is not None:
        if at.f_code.co_name in _RUNS and at.f_globals.get("__name__", "").startswith("asyncio."):
            for task in at.f_locals.values():
                if isinstance(task, asyncio.Future) and not task.done():  # type: ignore[union-attr]
                    with contextlib.suppress(RuntimeError):  # the loop has been closed
                        task.get_loop().call_soon_threadsafe(task.cancel)
                    return True
        at = at.f_back
    return False
