"""A front with TLS for a PostgreSQL server that was built without it: `tls_front.py PORT SERVER_PORT CERTIFICATE KEY`.

A client that asks for TLS receives it; all others are passed on as they are.
"""

import asyncio
import ssl
import struct
import sys

# The message with which a client asks for TLS.
_ASKS_FOR_TLS = struct.pack("!ii", 8, 80877103)


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.close()


async def serve(reader, writer, server_port, context):
    try:
        first = await reader.readexactly(8)
        if first == _ASKS_FOR_TLS:
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(context)
            first = b""
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", server_port)
    except (OSError, ssl.SSLError, asyncio.IncompleteReadError):
        writer.close()
        return
    server_writer.write(first)
    await asyncio.gather(pass_on(reader, server_writer), pass_on(server_reader, writer))


async def main(port, server_port, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(lambda *ends: serve(*ends, server_port, context), "127.0.0.1", port)
    print("the front is ready to accept connections", file=sys.stderr, flush=True)
    await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
