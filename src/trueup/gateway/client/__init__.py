"""The gateway's HTTP client: sends a request to an upstream and returns its answer, whole or in pieces, under one deadline.

It supports only HTTP/1.1 and trusts nothing in an answer. `docs/decisions/http-client.md` says why it is our own.

| module | what it knows |
|---|---|
| `upstream` | `UpstreamConnections` sends a request to an upstream, `UpstreamResponse` is its answer: which headers pass, what a failure is called |
| `pool` | which connections are open, which are idle, who waits for one |
| `link` | one connection: how an answer is framed, and where it ends |
| `addresses` | which addresses a name has, and which of them may be connected to |
| `inflate` | how a compressed body is opened without filling the memory |
| `tls` | whose certificates are trusted, and which one is shown |
| `proxies` | which proxy the environment names for an upstream, and the tunnel through it |
| `memory` | when the memory of a large answer goes back to the system |
| `within` | how a part of a task is cancelled when its time is over |

Its promises, each with tests in `tests/gateway/client`: no redirect is followed; no answer is larger than its limit,
even compressed; an answer that was cut off is an error; bytes after an answer are never mistaken for the next one;
unread data waits in the socket, not in memory; a cancelled request leaves no trace; no key is in an error or an answer.
"""
