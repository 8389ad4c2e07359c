// A plain chat page: every message is text, never markup.
const list = document.querySelector("#messages");
const empty = document.querySelector("#empty");
const notice = document.querySelector("#notice");
const form = document.querySelector("#form");
const field = document.querySelector("#text");
const send = form.querySelector("button");
const remembered = "recollect.conversation";

function show(role, text, memories = []) {
  const item = document.createElement("li");
  item.className = role;
  const said = document.createElement("p");
  said.textContent = text;
  item.append(said);
  for (const one of memories) {
    const source = document.createElement("small");
    source.textContent = `Remembered (${one.why}): ${one.content}`;
    item.append(source);
  }
  list.append(item);
  empty.hidden = true;
  item.scrollIntoView({ block: "end" });
}

async function call(path, options) {
  const answer = await fetch(path, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail);
  return body;
}

function warn(error) {
  notice.textContent = `${error.message || "The server does not answer."} Your text is still in the field.`;
  notice.hidden = false;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const message = field.value.trim();
  if (!message || send.disabled) return;
  send.disabled = true;
  notice.hidden = true;
  try {
    const turn = await call("/api/chat", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ message, conversation_id: localStorage.getItem(remembered) }),
    });
    localStorage.setItem(remembered, turn.conversation_id);
    show("user", message);
    show("assistant", turn.message.content, turn.memories_used);
    field.value = "";
  } catch (error) {
    warn(error);
  } finally {
    send.disabled = false;
    field.focus();
  }
});

field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

document.querySelector("#new").addEventListener("click", () => {
  localStorage.removeItem(remembered);
  list.replaceChildren();
  empty.hidden = false;
  field.focus();
});

const current = localStorage.getItem(remembered);
if (current) {
  call(`/api/conversations/${encodeURIComponent(current)}/messages`)
    .then((page) => page.items.forEach((message) => show(message.role, message.content)))
    .catch(() => localStorage.removeItem(remembered));
}
