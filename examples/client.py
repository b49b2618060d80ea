#!/usr/bin/env python3
"""A chat with Djinn on a terminal. It sends files, asks, shows the run while it happens, comes back after a cut, asks you
what the run asks people, and saves the files that were made. Python 3.11 runs it, with nothing besides.

Without a question, questions are read from the terminal until it is closed. DJINN_KEY is the API key, if one is needed.
"""

import argparse
import http.client
import json
import os
import pathlib
import queue
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

MARKS = {"not_started": " ", "in_progress": ">", "completed": "x", "blocked": "!", "skipped": "-"}


class Refused(Exception):
    """An answer that is an error. `docs/errors.md` has the codes."""

    def __init__(self, error):
        try:
            body = json.load(error)
        except ValueError:
            body = {"message": f"HTTP {error.code}", "retryable": error.code >= 500}
        super().__init__(body["message"])
        self.retryable = body["retryable"]
        self.after = body.get("retry_after") or 1


class Server:
    def __init__(self, url, key):
        self.url, self.key = url.rstrip("/"), key

    def send(self, path, body=None, headers=(), timeout=60):
        """An answer to be read. Links are whole URLs, and the key goes nowhere but to the server."""
        url = urllib.parse.urljoin(self.url + "/", path)
        request = urllib.request.Request(url, data=body, headers=dict(headers))
        if self.key and url.startswith(self.url + "/"):
            request.add_unredirected_header("authorization", f"Bearer {self.key}")
        try:
            return urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            raise Refused(error) from None

    def post(self, path, body, headers=()):
        return self.send(path, json.dumps(body).encode(), {"content-type": "application/json", **dict(headers)})

    def upload(self, session, path):
        """Sends a file. Returns its name in the session, which may be another than its own."""
        boundary = uuid.uuid4().hex
        name = path.name.replace('"', "%22")
        head = (
            f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        )
        body = head.encode() + path.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
        headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
        with self.send(f"/sessions/{session}/files", body, headers) as answer:
            return json.load(answer)["file"]["name"]

    def download(self, file, folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / pathlib.PurePath(file["name"]).name
        with self.send(file["download_url"]) as answer:
            path.write_bytes(answer.read())
        return path


def read_frames(stream):
    """The events of a stream, each with its cursor, its name, and the milliseconds after which to come back."""
    frame = {}
    for line in stream:
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        if field and line.endswith(b"\n"):
            frame[field] = value.removeprefix(" ")
        elif "data" in frame:
            yield frame.get("id"), frame.get("event"), json.loads(frame["data"]), int(frame.get("retry", 0))
            frame = {}
        else:
            frame = {}  # One that a cut left half is none.


class Screen:
    """Only ever writes at its end, so it serves a pipe as well as a terminal."""

    def __init__(self):
        self.steps = []
        self.drafts = {}  # What came of each message that is being written: attempt, bytes, bytes shown.
        self.open = None  # The draft that the last line is of.

    def line(self, text, child=None):
        self.close()
        for line in text.split("\n"):
            print(f"[{child}] {line}" if child else line, flush=True)

    def close(self):
        if self.open:
            print(flush=True)
        self.open = None

    def write(self, data):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()

    def piece(self, piece):
        """Pieces of the run's own messages are shown as they come; those of its tasks, which speak at once, when whole."""
        key = (piece.get("path"), piece["message"], piece["kind"])
        attempt, data, shown = self.drafts.get(key, (0, b"", 0))
        if piece["attempt"] > attempt:
            attempt, data, shown = piece["attempt"], b"", 0
            if self.open == key:
                self.close()
        if piece["attempt"] == attempt and piece["offset"] <= len(data):
            data = data[: piece["offset"]] + piece["text"].encode()
            if not piece.get("path") and len(data) > shown:
                if self.open != key:
                    self.close()
                    if piece["kind"] == "reasoning" and not shown:
                        self.line("(thinks)")
                self.open = key
                self.write(data[shown:])
                shown = len(data)
        self.drafts[key] = attempt, data, shown

    def message(self, event):
        child = event.get("path")
        for kind, whole in (("reasoning", event.get("reasoning")), ("text", event["text"])):
            key = (child, event["message"], kind)
            _, data, shown = self.drafts.pop(key, (0, b"", 0))
            rest = (whole or "").encode()
            if rest.startswith(data[:shown]) and (self.open == key or shown == len(rest)):
                self.write(rest[shown:])
            elif whole:
                self.line(f"(thinks)\n{whole}" if kind == "reasoning" else whole, child)
        self.close()

    def forget(self, child, message):
        self.drafts = {key: draft for key, draft in self.drafts.items() if key[:2] != (child, message)}

    def plan(self):
        for step in self.steps:
            after = f" (after {', '.join(step['depends_on'])})" if step["depends_on"] else ""
            note = f": {step['note']}" if step["note"] else ""
            self.line(f"  [{MARKS[step['status']]}] {step['id']} {step['details']}{after}{note}")

    def result(self, event):
        result, child = event["result"], event.get("path")
        if result["status"] != "done":
            self.line(f"  = {result['status']} {result.get('reason', '')} {result.get('detail', '')}".rstrip(), child)
        elif result["view"]["kind"] == "file_written":
            file = result["view"]["file"]
            self.line(f"+ {file['name']}, {file['size']} bytes", child)
        elif result["view"]["kind"] == "text":
            self.line(f"  = {result['text']}", child)

    def show(self, event):
        child = event.get("path")
        match event["type"]:
            case "message.completed":
                self.message(event)
            case "message.reset" if event["reason"] == "review":
                self.line("(the reviewer did not accept this answer; another one follows)", child)
            case "message.reset":
                self.forget(child, event["message"])
                self.line(f"(begins again: {event['failure']['code']})", child)
            case "review.completed":
                verdict = "accepted" if event["accepted"] else "not judged" if "failure" in event else "not accepted"
                self.line(f"review {event['round']}: {verdict}", child)
                for problem in event["problems"] + event["missing"]:
                    self.line(f"  - {problem}", child)
            case "call.requested":
                self.line(f"* {event['tool']} {json.dumps(event['arguments'], ensure_ascii=False)}", child)
            case "call.completed":
                self.result(event)
            case "plan.changed":
                self.steps = event["plan"]["steps"]
                self.line(f"Plan: {event['plan']['title']}")
                self.plan()
            case "step.changed":
                for step in self.steps:
                    if step["id"] == event["step"]:
                        step.update(status=event["status"], note=event.get("note", step["note"]))
                self.plan()
            case "child.started":
                self.line(f"begins: {event['description']}", event["child"])
            case "child.ended":
                self.line(f"ends: {event['status']}", event["child"])
            case "human.resolved":
                # Guests are not told who answered.
                nameless = "somebody" if event.get("response_id") else "no one in time"
                self.line(f"{event['request']}: {event['response']} ({event.get('by') or nameless})")
            case "user_message.added":
                self.line(f"{event.get('by') or 'somebody'}: {event['text']}")
            case "run.resumed":
                self.drafts = {}
            case "run.ended":
                failure = event.get("failure") or {}
                self.line(f"({event['status']}) {failure.get('code', '')} {failure.get('detail', '')}".rstrip())


class Person:
    """Whoever is at the terminal: lines, each taken once."""

    def __init__(self):
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in sys.stdin:
            self.lines.put(line.strip())
        self.lines.put(None)

    def next(self, withdrawn=None):
        """The next line; None if there is none any more, or nobody wants it."""
        while not (withdrawn and withdrawn.is_set()):
            try:
                line = self.lines.get(timeout=0.2)
            except queue.Empty:
                continue
            if line is None:
                self.lines.put(None)
            return line
        return None


class Chat:
    """One question, from asking it to the end of its run."""

    def __init__(self, server, screen, person):
        self.server, self.screen, self.person = server, screen, person
        self.run, self.cursor, self.seen = None, None, set()
        self.asked, self.answered, self.turn = {}, threading.Event(), threading.Lock()

    def ask(self, question):
        """Follows the run across all cuts. Returns its last event."""
        failures = 0
        while True:
            try:
                with self.open_stream(question) as stream:
                    self.run = stream.headers["djinn-run-id"]
                    retry_ms = 0
                    for cursor, name, data, retry_ms in read_frames(stream):
                        failures = 0
                        self.cursor = cursor or self.cursor
                        if ending := self.take(name, data):
                            return ending
                self.screen.line("(the stream ended, and is taken up again)")
                self.answered.wait(retry_ms / 1000)  # Somebody else may answer, too.
                self.answered.clear()
            except (OSError, http.client.HTTPException, ValueError, Refused) as error:
                if isinstance(error, Refused) and not error.retryable:
                    raise
                self.screen.line(f"({error}; tries again)")
                time.sleep(min(30, error.after if isinstance(error, Refused) else 2**failures))
                failures += 1

    def open_stream(self, question):
        headers = {"accept": "text/event-stream", **({"last-event-id": self.cursor} if self.cursor else {})}
        if self.run:
            return self.server.send(f"/runs/{self.run}/events", headers=headers)
        return self.server.post("/runs", question, headers)

    def take(self, name, data):
        if name == "preview":
            self.screen.piece(data)
        elif "id" in data and data["id"] not in self.seen:  # Only what is kept has an id.
            self.seen.add(data["id"])
            self.screen.show(data)
            if name == "human.requested":
                for request in data["requests"]:
                    self.asked[request["id"]] = threading.Event()
                    threading.Thread(target=self.decide, args=[request], daemon=True).start()
            elif name == "human.resolved" and data["request"] in self.asked:
                self.asked.pop(data["request"]).set()
        return data if name == "run.ended" else None

    def decide(self, request):
        """Asks the person, one thing after the other, and tells the run."""
        withdrawn = self.asked[request["id"]]
        clarifies = request.get("tool") == "ask_user"
        with self.turn:
            if withdrawn.is_set():
                return
            if clarifies:
                self.screen.line("\n".join(f"? {question}" for question in request["arguments"]["questions"]))
            else:
                about = request.get("arguments") or request.get("text") or request.get("details")
                shown = json.dumps(about, ensure_ascii=False)
                self.screen.line(
                    f"? {request['about']} {request.get('tool', '')} {shown}, risk {request['risk']}: "
                    "yes, skip, stop, {other arguments}, or words"
                )
            while (words := self.person.next(withdrawn)) is not None:
                response = {"response": words, "digest": request["digest"]}
                try:
                    if not clarifies and words == "yes":
                        response["response"] = "confirm"
                    elif not clarifies and words.startswith("{"):
                        response |= {"response": "modify", "parameters": json.loads(words)}
                    self.server.post(f"/runs/{self.run}/requests/{request['id']}/response", response).close()
                    self.answered.set()
                    break
                except (OSError, ValueError, Refused) as error:
                    self.screen.line(f"({error}; say it again)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("question", nargs="?")
    parser.add_argument("--url", default="http://127.0.0.1:9000")
    parser.add_argument("--session", default=str(uuid.uuid4()))
    parser.add_argument("--mode", choices=["react", "plan_solve"], default="react")
    parser.add_argument("--approve", action="store_true", help="ask before calls that can do harm")
    parser.add_argument("--clarify", action="store_true", help="let the model ask for what is missing")
    parser.add_argument("--upload", type=pathlib.Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--save", type=pathlib.Path, metavar="FOLDER")
    options = parser.parse_args()
    server, screen, person = Server(options.url, os.environ.get("DJINN_KEY")), Screen(), Person()
    try:
        for path in options.upload:
            screen.line(f"sent {server.upload(options.session, path)}")
        finished = True
        for question in [options.question] if options.question else iter(person.next, None):
            end = Chat(server, screen, person).ask(
                {
                    "question": question,
                    "mode": options.mode,
                    "session_id": options.session,
                    "request_id": str(uuid.uuid4()),
                    # More than the deployment itself asks people about; it may ask without.
                    "human_requests": {"enabled": options.approve, "clarify": options.clarify},
                }
            )
            finished = end["status"] == "finished"
            for file in end["files"] if options.save else []:
                screen.line(f"saved {server.download(file, options.save)}")
    except Refused as error:
        sys.exit(str(error))
    sys.exit(0 if finished else 1)


if __name__ == "__main__":
    main()
