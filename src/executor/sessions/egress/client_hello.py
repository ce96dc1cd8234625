"""The first message of TLS, as far as it takes to see which host it is for."""

from __future__ import annotations

import struct
from collections.abc import Iterator

HANDSHAKE, CLIENT_HELLO = 22, 1
SERVER_NAME, ENCRYPTED_HELLO = 0, 0xFE0D
RECORD_HEAD, MESSAGE_HEAD = 5, 4
MAX_RECORD = 16384 + 256
MAX_HELLO = 64 * 1024


class NotTls(Exception):
    """What came is not the beginning of a TLS connection that shows its host."""


def read_server_name(data: bytes) -> str | None:
    """The one host that it names; None if more bytes are needed. Raises NotTls."""
    message = first_message(data)
    if message is None:
        return None
    try:
        return find_server_name(message)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise NotTls("its ClientHello is malformed") from error


def first_message(data: bytes) -> bytes | None:
    """The body of the ClientHello, put together from as many records as it takes."""
    message, at = b"", 0
    while len(data) - at >= RECORD_HEAD:
        kind, major, _, size = struct.unpack_from("!BBBH", data, at)
        if kind != HANDSHAKE or major != 3 or not 0 < size <= MAX_RECORD:
            raise NotTls("it is not TLS")
        if len(data) - at < RECORD_HEAD + size:
            break
        message += data[at + RECORD_HEAD : at + RECORD_HEAD + size]
        at += RECORD_HEAD + size
        if len(message) >= MESSAGE_HEAD:
            length = int.from_bytes(message[1:MESSAGE_HEAD], "big")
            if message[0] != CLIENT_HELLO or length > MAX_HELLO or len(message) > MESSAGE_HEAD + length:
                raise NotTls("it does not begin with one ClientHello")
            if len(message) == MESSAGE_HEAD + length:
                return message[MESSAGE_HEAD:]
    if data and data[0] != HANDSHAKE:
        raise NotTls("it is not TLS")
    if len(data) > MAX_HELLO:
        raise NotTls("its ClientHello is too large")
    return None


def find_server_name(message: bytes) -> str:
    names = []
    for kind, content in extensions(message):
        if kind == ENCRYPTED_HELLO:
            raise NotTls("it encrypts the name of its host")
        if kind == SERVER_NAME:
            names.append(content)
    if len(names) != 1:
        raise NotTls("it does not name one host")
    return read_name_list(names[0])


def extensions(message: bytes) -> Iterator[tuple[int, bytes]]:
    at = 2 + 32  # version, random
    at += 1 + message[at]  # session id
    at += 2 + struct.unpack_from("!H", message, at)[0]  # cipher suites
    at += 1 + message[at]  # compression methods
    if at == len(message):
        return
    (total,) = struct.unpack_from("!H", message, at)
    at += 2
    if at + total != len(message):
        raise NotTls("its ClientHello is malformed")
    while at < len(message):
        kind, size = struct.unpack_from("!HH", message, at)
        at += 4
        if at + size > len(message):
            raise NotTls("its ClientHello is malformed")
        yield kind, message[at : at + size]
        at += size


def read_name_list(content: bytes) -> str:
    """One entry, of the only type there is."""
    total, kind, size = struct.unpack_from("!HBH", content)
    if kind != 0 or total != len(content) - 2 or size != total - 3:
        raise NotTls("it does not name one host")
    return content[5:].decode("ascii").lower()
