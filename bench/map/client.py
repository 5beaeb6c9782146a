"""A client of the server's protocol, so that a statement can be planned each time, or be prepared, at little cost here."""
import socket
import struct
import zlib

PIPELINED = 25  # statements sent before their answers are read: what waits for us must fit into the kernel's buffers

# The server's identifiers of messages that this program has to tell apart.
READY, ROW, ERROR = b"Z", b"D", b"E"


class ServerError(Exception):
    """What the server has said of a statement."""


class Client:
    """One session, by a Unix socket, of a server that trusts us."""

    def __init__(self, folder, port, user, database, settings=""):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(f"{folder}/.s.PGSQL.{port}")
        self.buffer = b""
        parameters = {"user": user, "database": database, "client_encoding": "UTF8", "options": settings}
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in parameters.items()) + b"\0"
        self.socket.sendall(struct.pack("!ii", len(body) + 8, 3 << 16) + body)
        self._answers(1)
        self.pid = int(self.rows("SELECT pg_backend_pid()")[0][0])

    def close(self):
        self.socket.close()

    # ---- statements ----

    def rows(self, sql):
        """What a statement, or the last of several, returns: lists of texts."""
        self.socket.sendall(_message(b"Q", sql.encode() + b"\0"))
        return [_columns(row) for row in self._answers(1)]

    def value(self, sql):
        return self.rows(sql)[0][0]

    def planned_each_time(self, statements):
        """Runs each as a simple query; a checksum of the rows."""
        return self._pipelined([_message(b"Q", sql.encode() + b"\0") for sql in statements])

    def prepare(self, sql):
        """Parses a statement with parameters, which prepared() then runs."""
        self.socket.sendall(_message(b"P", b"map\0" + sql.encode() + b"\0" + struct.pack("!h", 0)) + _message(b"S", b""))
        self._answers(1)

    def deallocate(self):
        self.rows("DEALLOCATE map")

    def prepared(self, parameters):
        """Runs the prepared statement for each tuple of parameters; a checksum of the rows."""
        return self._pipelined([_bound(values) for values in parameters])

    # ---- messages ----

    def _pipelined(self, messages):
        checksum = 0
        for start in range(0, len(messages), PIPELINED):
            batch = messages[start:start + PIPELINED]
            self.socket.sendall(b"".join(batch))
            for row in self._answers(len(batch)):
                checksum = zlib.crc32(row, checksum)
        return checksum

    def _answers(self, count):
        """Reads on until the server has been ready so many times; rows.  Raises ServerError, after that."""
        rows, error, position = [], None, 0
        while count:
            while len(self.buffer) < position + 5 or len(self.buffer) < position + 1 + self._length(position):
                received = self.socket.recv(1 << 18)
                if not received:
                    raise ServerError("the server has closed the connection")
                self.buffer = self.buffer[position:] + received
                position = 0
            kind, end = self.buffer[position:position + 1], position + 1 + self._length(position)
            if kind == ROW:
                rows.append(self.buffer[position + 5:end])
            elif kind == ERROR:
                fields = dict((field[:1], field[1:].decode()) for field in self.buffer[position + 5:end].split(b"\0") if field)
                error = fields[b"M"]
            elif kind == READY:
                count -= 1
            position = end
        self.buffer = self.buffer[position:]
        if error:
            raise ServerError(error)
        return rows

    def _length(self, position):
        return struct.unpack_from("!i", self.buffer, position + 1)[0]


def _message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def _bound(values):
    """Bind, Execute and Sync of the prepared statement, all as text."""
    body = b"\0map\0" + struct.pack("!hh", 0, len(values))
    for value in values:
        text = str(value).encode()
        body += struct.pack("!i", len(text)) + text
    return _message(b"B", body + struct.pack("!h", 0)) + _message(b"E", b"\0" + struct.pack("!i", 0)) + _message(b"S", b"")


def _columns(row):
    count, position, columns = struct.unpack_from("!h", row)[0], 2, []
    for _ in range(count):
        length = struct.unpack_from("!i", row, position)[0]
        position += 4
        columns.append(None if length < 0 else row[position:position + length].decode())
        position += max(length, 0)
    return columns
