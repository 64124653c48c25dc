"""Whether this machine carries what the laboratory's links are said to: all of them full at once, both ways, core included.

Upstream: tests/netlab/run. Downstream: network.Lab. Each host of a rack sends to one of the other for some seconds; where
what arrives is less than a link's rate, the machine is the limit and not the network, and every ratio would say so.
"""
import socket
import struct
import subprocess
import sys
import time

from network import Lab

REACHED = 0.97  # of the rate of a link, mean of all
LOWER = 0.75  # the next rate that is tried
RATE_MIN_MBIT = 10
HOSTS = 8
PORT = 5201
SECONDS = 2.0
RAMP_S = 0.7  # until every sender's window is open


class TooBusy(RuntimeError):
    pass


def receive(seconds):
    """On a host: takes one connection; prints the bytes a second that arrive once RAMP_S are over."""
    with socket.create_server(("", PORT)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
    with connection:
        begin = time.monotonic()
        counted, since = 0, None
        while True:
            arrived = len(connection.recv(1 << 18))
            now = time.monotonic()
            if since is None:
                since = now if now - begin >= RAMP_S else None
            else:
                counted += arrived
            if arrived == 0 or now - begin >= RAMP_S + seconds:
                break
        print(counted / (now - since) if since is not None and now > since else 0.0, flush=True)
        # Whoever sends is cut off.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def send(address):
    """On a host: sends until nobody takes it any more."""
    block = bytes(1 << 18)
    with socket.create_connection((address, PORT)) as connection:
        try:
            while True:
                connection.sendall(block)
        except OSError:
            pass


def shares(rate_mbit, seconds=SECONDS):
    """What each link carries when all are full, over its rate."""
    with Lab(hosts=HOSTS, kind="racks", rate_mbit=rate_mbit, core_mbit=rate_mbit * HOSTS // 2, queue_bytes=1 << 18) as lab:
        def start(host, *words):
            return subprocess.Popen(lab.command(host, sys.executable, __file__, *words), stdout=subprocess.PIPE, text=True)

        receivers = [start(host, "receive", str(seconds)) for host in range(HOSTS)]
        senders = []
        try:
            for receiver in receivers:
                receiver.stdout.readline()
            senders = [start(host, "send", lab.address((host + HOSTS // 2) % HOSTS)) for host in range(HOSTS)]
            return [float(receiver.stdout.readline() or 0) / lab.port_bytes_per_s() for receiver in receivers]
        finally:
            for process in [*receivers, *senders]:
                process.kill()
                process.wait()
                process.stdout.close()


def settle_rate(rate_mbit, log, measure=shares):
    """The highest rate, from `rate_mbit` down, that all links reach at once. Returns it and what was measured.

    Errors: TooBusy when even the lowest is not reached.
    """
    tries = []
    while rate_mbit >= RATE_MIN_MBIT:
        of_links = measure(rate_mbit)
        tries.append({"rate_mbit": rate_mbit, "mean": round(sum(of_links) / len(of_links), 4), "least": round(min(of_links), 4)})
        log(f"self-check: {len(of_links)} links of {rate_mbit} Mbit/s, all full at once both ways, carry {tries[-1]['mean']:.3f} of "
            f"their rate (least {tries[-1]['least']:.3f}; asked for: {REACHED})")
        if tries[-1]["mean"] >= REACHED:
            return rate_mbit, tries
        rate_mbit = int(rate_mbit * LOWER)
    raise TooBusy(f"this machine carries no links of {RATE_MIN_MBIT} Mbit/s at their rate; is something else running on it?")


if __name__ == "__main__":
    receive(float(sys.argv[2])) if sys.argv[1] == "receive" else send(sys.argv[2])
