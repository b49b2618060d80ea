// A page that chats with Djinn by `useChat`, as its users write one.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

function Chat({ stored }) {
  const [text, setText] = useState("");
  const { messages, sendMessage, addToolApprovalResponse, stop, status, error } = useChat({
    id: "browser",
    messages: stored,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    transport: new DefaultChatTransport({ api: "/ai/chat" }),
  });
  // An answer that is being written is not stored: after a reload, it is sent again.
  useEffect(() => {
    if (status !== "streaming") localStorage.setItem("messages", JSON.stringify(messages));
  }, [messages, status]);
  const approve = ({ approval }) => addToolApprovalResponse({ id: approval.id, approved: true });
  const show = (part, key) => {
    if (part.type === "text") return <p key={key}>{part.text}</p>;
    if (part.state !== "approval-requested") return null;
    return <button key={key} onClick={() => approve(part)}>{`Approve ${part.toolName}`}</button>;
  };
  const ask = (event) => {
    event.preventDefault();
    sendMessage({ text });
    setText("");
  };
  return (
    <main>
      {messages.map(({ id, parts }) => <article key={id}>{parts.map(show)}</article>)}
      <form onSubmit={ask}>
        <input aria-label="Question" value={text} onChange={(event) => setText(event.target.value)} />
      </form>
      <button onClick={stop}>Stop</button>
      <output>{error ? error.message : status}</output>
    </main>
  );
}

const stored = JSON.parse(localStorage.getItem("messages") ?? "[]");
createRoot(document.getElementById("root")).render(<Chat stored={stored} />);
