"""A platform that a hub dials, and a device that dials a hub: WebSocket of RFC 6455 on Python's standard library alone.

    assistant-peer.py platform          prints `listening on http://127.0.0.1:PORT` and serves connections, one after another
    assistant-peer.py device URL        dials the URL

Both take lines on stdin and do as they say: `send TEXT`, `ping TEXT`, `close CODE`, `mute` (no pong any more, nothing is read),
`drop` (the connection is cut without a close frame), `raw HEX` (these bytes as they are). What comes is printed as one JSON a line.
"""
import base64, hashlib, json, os, socket, struct, sys, threading
from urllib.parse import urlsplit

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def say(**what):
    print(json.dumps(what), flush=True)


class Peer:
    def __init__(self, sock, masks):
        self.sock, self.masks, self.muted, self.closing = sock, masks, threading.Event(), False

    def frame(self, opcode, payload):
        size = len(payload)
        head = bytes([0x80 | opcode])
        bit = 0x80 if self.masks else 0
        if size < 126:
            head += bytes([bit | size])
        elif size < 65536:
            head += bytes([bit | 126]) + struct.pack("!H", size)
        else:
            head += bytes([bit | 127]) + struct.pack("!Q", size)
        if self.masks:
            key = os.urandom(4)
            head += key
            payload = bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))
        self.sock.sendall(head + payload)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            chunk = self.sock.recv(size - len(data))
            if not chunk:
                raise EOFError
            data += chunk
        return data

    def read(self):
        parts = b""
        try:
            while True:
                first, second = self.exactly(2)
                size = second & 0x7F
                if size == 126:
                    (size,) = struct.unpack("!H", self.exactly(2))
                elif size == 127:
                    (size,) = struct.unpack("!Q", self.exactly(8))
                masked = bool(second & 0x80)
                key = self.exactly(4) if masked else b"\0\0\0\0"
                payload = bytes(byte ^ key[at % 4] for at, byte in enumerate(self.exactly(size)))
                if masked == self.masks or first & 0x70:
                    say(event="wrong", detail="masking or reserved bits")
                opcode = first & 0x0F
                if self.muted.is_set():
                    continue
                if opcode in (0, 1):
                    parts += payload
                    if first & 0x80:
                        say(event="text", text=parts.decode("utf-8"))
                        parts = b""
                elif opcode == 8:
                    code = struct.unpack("!H", payload[:2])[0] if payload else None
                    say(event="close", code=code)
                    if not self.closing:
                        self.frame(8, payload[:2])
                    break
                elif opcode == 9:
                    say(event="ping")
                    self.frame(10, payload)
                elif opcode == 10:
                    say(event="pong", text=payload.decode("utf-8"))
        except (EOFError, OSError):
            say(event="end")
        self.sock.close()

    def do(self, line):
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "send":
            self.frame(1, rest.encode("utf-8"))
        elif word == "ping":
            self.frame(9, rest.encode("utf-8"))
        elif word == "close":
            self.closing = True
            self.frame(8, struct.pack("!H", int(rest)))
        elif word == "mute":
            self.muted.set()
        elif word == "drop":
            self.sock.shutdown(socket.SHUT_RDWR)
        elif word == "raw":
            self.sock.sendall(bytes.fromhex(rest))


def head(sock):
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = sock.recv(1)
        if not byte:
            raise EOFError
        data += byte
    first, *lines = data.decode("latin-1").split("\r\n")
    return first, {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}


def accept_key(key):
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


def platform():
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    current = []

    def serve():
        while True:
            sock, _ = listener.accept()
            first, headers = head(sock)
            wanted = accept_key(headers["sec-websocket-key"])
            say(event="open", path=first.split(" ")[1], extensions=headers.get("sec-websocket-extensions"))
            sock.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + f"Sec-WebSocket-Accept: {wanted}\r\n\r\n".encode()
            )
            peer = Peer(sock, False)
            current[:] = [peer]
            threading.Thread(target=peer.read, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    for line in sys.stdin:
        try:
            current[0].do(line)
        except OSError:
            say(event="end")


def device(url):
    parts = urlsplit(url)
    sock = socket.create_connection((parts.hostname, parts.port))
    key = base64.b64encode(os.urandom(16)).decode()
    sock.sendall(
        f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    first, headers = head(sock)
    say(event="open", status=int(first.split(" ")[1]), accepted=headers.get("sec-websocket-accept") == accept_key(key))
    if " 101 " not in first:
        return
    peer = Peer(sock, True)
    threading.Thread(target=peer.read, daemon=True).start()
    for line in sys.stdin:
        try:
            peer.do(line)
        except OSError:
            say(event="end")


if sys.argv[1] == "platform":
    platform()
else:
    device(sys.argv[2])
