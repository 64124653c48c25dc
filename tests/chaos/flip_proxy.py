"""Stands between workers and flips bits of what passes: after TCP's own checksum, so that only ours can find it.

Upstream: damage.py. One proxy a worker, at the address by which the others know it; the flips are shared, so that a position
counts the bytes of all data connections together.
"""
import bisect
import contextlib
import socket
import threading

PIECE = 1 << 16


class Flips:
    """Positions in the stream of all bytes at which one bit is turned; thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._positions, self._bits = [], []
        self._passed = 0
        self.struck = 0

    def arm(self, positions, draw):
        """From now on: flips at these positions, counted from here."""
        with self._lock:
            self._passed, self.struck = 0, 0
            self._positions = sorted(set(positions))
            self._bits = [draw.randrange(8) for _ in self._positions]

    @property
    def passed(self):
        """Bytes since it was last armed."""
        with self._lock:
            return self._passed

    def through(self, data):
        """What becomes of bytes that pass."""
        with self._lock:
            begin, self._passed = self._passed, self._passed + len(data)
            first = bisect.bisect_left(self._positions, begin)
            last = bisect.bisect_left(self._positions, self._passed)
            if first == last:
                return data
            data = bytearray(data)
            for place in range(first, last):
                data[self._positions[place] - begin] ^= 1 << self._bits[place]
            self.struck += last - first
            return bytes(data)


class Proxy:
    """Passes what comes to (address, port) on to (target, port), both ways."""

    def __init__(self, address, target, port, flips=None):
        self.target, self.port, self.flips = target, port, flips
        self.listener = socket.create_server((address, port), backlog=64)
        self.open = set()
        self.closed = False
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((self.target, self.port), timeout=5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            with self.lock:
                if self.closed:
                    client.close()
                    server.close()
                    return
                self.open |= {client, server}
            for ends in ((client, server), (server, client)):
                for end in ends:
                    with contextlib.suppress(OSError):
                        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source, sink):
        try:
            while data := source.recv(PIECE):
                sink.sendall(self.flips.through(data) if self.flips else data)
        except OSError:
            pass
        for end, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
            with contextlib.suppress(OSError):
                end.shutdown(how)
        # A process that dies takes both directions with it.
        with contextlib.suppress(OSError):
            source.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
        with self.lock:
            self.open -= {source, sink}
        source.close()

    def close(self):
        with self.lock:
            self.closed = True
            ends, self.open = self.open, set()
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for end in ends:
            with contextlib.suppress(OSError):
                end.close()
