"""A web server on this machine that answers as badly as it is told to."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """What each path answers: a function of the handler, or a list of these for one call after the other."""

    def __init__(self):
        self.answers, self.asked = {}, []
        self.gone = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                answer = server.answers.get(self.path, status(404))
                if isinstance(answer, list):
                    answer = answer.pop(0) if len(answer) > 1 else answer[0]
                answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.waiting = self.gone

    @property
    def base(self):
        return f"http://127.0.0.1:{self.http.server_port}"


@contextmanager
def serving():
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.gone.set()
        server.http.shutdown()
        server.http.server_close()
        thread.join()


def whole(body, length=None):
    """Answer with `body`, and say that it has `length` bytes (None: as many as it has; False: nothing)."""

    def answer(handler):
        handler.send_response(200)
        if length is not False:
            handler.send_header("Content-Length", str(len(body) if length is None else length))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return answer


def status(code):
    def answer(handler):
        handler.send_response(code)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def redirect(target):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def stall(begun=b""):
    """Begin to answer, and say no more until the test is over."""

    def answer(handler):
        if begun:
            handler.send_response(200)
            handler.send_header("Content-Length", "1000000")
            handler.end_headers()
            handler.wfile.write(begun)
            handler.wfile.flush()
        handler.server.waiting.wait(20)
        handler.close_connection = True

    return answer
