"""The sockets a server listens on, and where it may without a key."""

import ipaddress
import socket

BACKLOG = 2048


class CannotListen(Exception):
    """There is no listening there. The text says why and what would do."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Listen on every address that a host has.

    Raises:
        CannotListen: if that is not possible.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise CannotListen(f"{host} is no address of this machine: {error}. Choose another --host.") from error
    listeners: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            # With port 0 the first address chooses, and the others take the same.
            chosen = listeners[0].getsockname()[1] if listeners and port == 0 else port
            listeners.append(socket.create_server((address[0], chosen), family=family, backlog=BACKLOG))
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise CannotListen(
            f"{host}:{port} can't be listened on: {error.strerror or error}. Choose another --host or --port (0 takes a free one)."
        ) from error
    return listeners


def is_loopback(listener: socket.socket) -> bool:
    """Whether nobody outside this machine can reach it."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def url_of(listener: socket.socket, host: str) -> str:
    """Where a browser finds it. Listening everywhere, that is on this machine too."""
    address, port = listener.getsockname()[:2]
    name = "127.0.0.1" if address == "0.0.0.0" else "[::1]" if address == "::" else host
    return f"http://[{name}]:{port}" if ":" in name and not name.startswith("[") else f"http://{name}:{port}"
