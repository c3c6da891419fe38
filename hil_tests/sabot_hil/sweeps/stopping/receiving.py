"""What is at the end of a line of ours: a web server that takes what is sent, hangs, or refuses."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_HANGS_S = 600.0


class Receiver:
    """Takes what is posted to `port`, and notes when it last did."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        """All that it has taken."""
        self.taken_s: float | None = None
        """When it took something last; None if it never did."""
        self.code = 200
        """How it answers."""
        self.hangs = threading.Event()
        """Set: it takes connections and does not answer."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if receiver.hangs.is_set():
                    time.sleep(_HANGS_S)
                if receiver.code == 200:
                    receiver.bodies.append(body)
                    receiver.taken_s = time.monotonic()
                self.send_response(receiver.code)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads, self._server.block_on_close = True, False
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> "Receiver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
