"""Interrupt a call that runs in another thread: shut down the HTTP connection it waits on, or cancel the task it runs an event loop for.

A thread's id enters; what the thread waits on is found in its innermost frames, so it works for every HTTP library that is written in
Python. Other connections, such as those to a database, are left alone: they may be in the middle of something that must not be cut short.
Nothing is raised inside the thread, and none of its locks is taken: the call ends as if the network had failed.
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
_LINES = frozenset({"socket", "ssl"})  # modules that stand between an HTTP library and the wait
_HTTP = ("http", "urllib")  # how packages that speak HTTP are called: `httpcore2`, `urllib3`; also inside of others
_NEAR = 3  # frames between the wait and the object that holds the socket
_RUNS = frozenset({"run_until_complete", "run"})  # functions that run an event loop until a task is done
_listing = threading.RLock()


def _forget_lock() -> None:
    """In a child process: a thread that it does not have may hold the lock."""
    global _listing
    _listing = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)


def interrupt(thread: int, is_over: Callable[[], bool] = lambda: False) -> bool:
    """End what a thread waits on, unless what it was to be interrupted in `is_over`; False if it waits on nothing that can be ended.

    >>> interrupt(-1)
    False
    """
    frame = frames().get(thread)
    if frame is None:
        return False
    at = frame.f_lasti
    if is_over():  # asked when the frame is known: the thread may do something else by now
        return False
    connection = _connection(frame)
    if connection is None:
        return _cancel_task(frame)
    now = frames().get(thread)
    if now is not frame or now.f_lasti != at:  # it went on meanwhile: the connection may be someone else's by now
        return False
    with contextlib.suppress(OSError):
        # That of the base class: the one of `ssl.SSLSocket` takes away the session that the thread is reading from.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    return True


def frames() -> dict[int, FrameType]:
    """The innermost frame of every thread, by the thread's id.

    CPython before 3.11.9 lists them under a lock that each new thread needs, and may collect garbage meanwhile. If the collector then runs
    code that releases the GIL, the process stops for good (python/cpython#106883). So nothing is collected here.
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
    """The socket that the innermost frames talk to, if it is that of an HTTP library and no other call shares it."""
    found, speaker = None, None
    at: FrameType | None = frame
    for depth in range(2 * _NEAR):
        if at is None:
            break
        owner = at.f_locals.get("self")
        if type(owner).__name__ == "HTTP2Connection":  # it carries the calls of other threads too
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
    """What a frame may hold a socket in: its object, what that holds, and its variables."""
    return [owner, *getattr(owner, "__dict__", {}).values(), *frame.f_locals.values()]


def _cancel_task(frame: FrameType) -> bool:
    """Cancel the task that the thread runs an event loop for, if it runs one; what else the loop has is not this call's."""
    asyncio = sys.modules.get("asyncio")
    at: FrameType | None = frame if asyncio is not None else None
    while at is not None:
        if at.f_code.co_name in _RUNS and at.f_globals.get("__name__", "").startswith("asyncio."):
            for task in at.f_locals.values():
                if isinstance(task, asyncio.Future) and not task.done():  # type: ignore[union-attr]
                    with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                        task.get_loop().call_soon_threadsafe(task.cancel)
                    return True
        at = at.f_back
    return False
