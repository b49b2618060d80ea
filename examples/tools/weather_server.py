"""The server of weather.toml: python3 examples/tools/weather_server.py [PORT]"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

CELSIUS = {"Oslo": 4, "Lima": 19, "Pune": 31}


def answer(path):
    """Returns the status and the body for a path such as /cities/Oslo/weather?units=fahrenheit."""
    url = urlsplit(path)
    parts = [unquote(part) for part in url.path.split("/")[1:]]
    if len(parts) != 3 or parts[0] != "cities" or parts[2] != "weather":
        return 404, {"error": "There is no such path."}
    celsius = CELSIUS.get(parts[1])
    if celsius is None:
        return 200, {"error": f"There is no weather for {parts[1]}: ask for {', '.join(CELSIUS)}."}
    units = parse_qs(url.query).get("units", ["celsius"])[0]
    degrees = celsius if units == "celsius" else round(celsius * 9 / 5 + 32)
    return 200, {"data": {"city": parts[1], "degrees": degrees, "units": units}}


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests with JSON."""

    def do_GET(self):
        status, body = answer(self.path)
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9180
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
