// Keeps the page new without losing anybody's place, and lets them decide. Without it the page works by being loaded again.
"use strict";

document.documentElement.classList.add("script");

// ------------------------------------------------------------ making the old content like the new, and touching nothing that is the same

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset.key || "" : "";
}

function sameKind(old, wanted) {
  return old.nodeType === wanted.nodeType && old.nodeName === wanted.nodeName && keyOf(old) === keyOf(wanted);
}

function likenAttributes(old, wanted) {
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !(old.localName === "details" && name === "open")) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

// What somebody is typing or has chosen stays; everything else is what the server says.
function likenValue(old, wanted) {
  if (old === document.activeElement) return;
  if (old.localName === "input" && old.value !== wanted.getAttribute("value")) old.value = wanted.getAttribute("value") || "";
  if (old.localName === "select") old.value = wanted.value;
}

function liken(old, wanted) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
    return;
  }
  likenAttributes(old, wanted);
  likenChildren(old, wanted);
  likenValue(old, wanted);
}

function likenChildren(old, wanted) {
  const keyed = new Map();
  for (const child of old.children) if (keyOf(child)) keyed.set(`${child.localName} ${keyOf(child)}`, child);
  let place = old.firstChild;
  for (const child of [...wanted.childNodes]) {
    const known = keyOf(child) && keyed.get(`${child.localName} ${keyOf(child)}`);
    if (known && known !== place) old.insertBefore(known, place);
    if (known) {
      liken(known, child);
      place = known.nextSibling;
    } else if (place && sameKind(place, child)) {
      liken(place, child);
      place = place.nextSibling;
    } else {
      old.insertBefore(document.adoptNode(child), place);
    }
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

// ------------------------------------------------------------ asking for the page again

const offline = () => document.getElementById("offline");
let asking = null;
let timer = 0;

function later() {
  clearTimeout(timer);
  const seconds = Number(document.documentElement.dataset.refresh);
  if (seconds) timer = setTimeout(() => (document.hidden ? later() : show(location.href)), seconds * 1000);
}

async function show(address) {
  if (asking) asking.abort();
  const mine = (asking = new AbortController());
  try {
    const answer = await fetch(address, { signal: mine.signal, headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (answer.status === 401 || answer.status === 403) return told("Airflow does not know you any more: load the page again to log in.");
    if (!answer.ok) return told(`Airflow answers ${answer.status}; what you see is old.`);
    const wanted = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (asking !== mine) return;
    if (address !== location.href) history.replaceState(history.state, "", address);
    document.title = wanted.title;
    document.documentElement.dataset.refresh = wanted.documentElement.dataset.refresh;
    for (const id of ["bar", "main"]) liken(document.getElementById(id), wanted.getElementById(id));
    arrived = Date.now();
    aged();
    sayPointed();
  } catch (failure) {
    if (failure.name !== "AbortError") told("Airflow cannot be reached; what you see is old.");
  } finally {
    if (asking === mine) {
      asking = null;
      later();
    }
  }
}

function told(words) {
  offline().textContent = words;
  offline().hidden = false;
}

// By the server's clock and what has passed here since: this machine's clock may be wrong.
let arrived = Date.now();

function aged() {
  const age = document.getElementById("age");
  if (!age || !age.dataset.age) return;
  const seconds = Math.max(0, Math.round(Number(age.dataset.age) + (Date.now() - arrived) / 1000));
  const words = seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${Math.floor(seconds / 3600)} h`;
  age.querySelector(".since").textContent = `${words} ago`;
  age.classList.toggle("old", seconds > 90);
}

// ------------------------------------------------------------ tables: what is pressed stands in the address

function addressOf(form, submitter) {
  const asked = new URLSearchParams();
  for (const [name, value] of new FormData(form, submitter)) if (value) asked.set(name, value);
  const words = asked.toString();
  return new URL(words ? `?${words}` : location.pathname, location.href).href;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || !form.hasAttribute("data-view")) return;
  event.preventDefault();
  show(addressOf(form, event.submitter));
});

let typing = 0;
document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form || !form.hasAttribute("data-search")) return;
  clearTimeout(typing);
  typing = setTimeout(() => form.requestSubmit(), 200);
});

// ------------------------------------------------------------ links that leave: Airflow's frame lets none go to the top by itself

document.addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a[target=_top]");
  if (!link || window.top === window || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  let page;
  try {
    page = window.top.document;
  } catch (_) {
    return; // another site's frame, which decides for itself
  }
  event.preventDefault();
  const there = page.createElement("a");
  there.href = link.href;
  there.hidden = true;
  page.body.append(there);
  there.click();
  there.remove();
});

// ------------------------------------------------------------ the chart: the values under the pointer, in words

function sayPointed() {
  const column = document.querySelector("#chart .column:hover");
  if (column) document.getElementById("under").textContent = column.textContent;
}

document.addEventListener("pointerover", (event) => {
  if (event.target.closest && event.target.closest("#chart .column")) sayPointed();
});

// ------------------------------------------------------------ commands: a button copies each

document.addEventListener("click", async (event) => {
  const button = event.target.closest && event.target.closest("button.copy");
  if (!button) return;
  button.textContent = (await copied(button)) ? "Copied" : "Press Ctrl-C";
  setTimeout(() => (button.textContent = "Copy"), 2000);
});

// A page without TLS has no clipboard: there the line is selected, and copied as the keyboard does it.
async function copied(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.line);
    return true;
  } catch (_) {
    getSelection().selectAllChildren(button.previousElementSibling);
    return document.execCommand("copy");
  }
}

// ------------------------------------------------------------ decisions: shown first, then confirmed

const dialog = document.getElementById("deciding");

function decisions() {
  const form = document.getElementById("decision");
  const said = document.getElementById("d-shown");
  const part = (name) => document.getElementById(`d-${name}`);
  let seen = null;
  let turn = 0; // an answer that comes when the form was closed, or is about something else by now, is nobody's any more

  function fields() {
    const word = form.decision.value;
    const chosen = form.decision.selectedOptions[0];
    const wanted = { topic: chosen.dataset.topic === "1", alias: word === "adopt-cluster", start: word === "restart", rate: word === "throttle" };
    for (const each of form.querySelectorAll("[data-for]")) {
      each.hidden = !wanted[each.dataset.for];
      if (each.name) each.disabled = each.hidden;
    }
    form.topic.required = wanted.topic;
    form.rate.required = wanted.rate;
    part("explained").textContent = chosen.dataset.explained;
  }

  function step(confirming) {
    for (const field of form.querySelectorAll("input, select, textarea")) field.disabled = confirming;
    part("show").hidden = confirming;
    part("confirm").hidden = part("change").hidden = !confirming;
    part("confirm").textContent = `Confirm: ${form.decision.selectedOptions[0].dataset.title}`;
    if (!confirming) {
      seen = null;
      fields();
    }
  }

  function say(className, ...lines) {
    const list = document.createElement("ul");
    list.className = `lines ${className}`;
    for (const line of lines.filter(Boolean)) list.append(Object.assign(document.createElement("li"), { textContent: line }));
    said.replaceChildren(list);
  }

  function busy(now) {
    for (const button of form.querySelectorAll("button[type=submit]")) button.disabled = now;
    if (now) say("", "Asking both clusters …");
  }

  function asked() {
    const text = (field) => (field.disabled && field.hidden ? null : field.value.trim() || null);
    const partition = text(form.partition);
    return {
      decision: form.decision.value,
      reason: form.reason.value.trim(),
      topic: text(form.topic),
      partition: partition === null ? null : Number(partition),
      alias: form.alias.hidden ? null : form.alias.value,
      start: text(form.start),
      bytes_per_second: text(form.rate),
    };
  }

  async function send(body) {
    try {
      const answer = await fetch(dialog.dataset.action, {
        method: "POST",
        credentials: "same-origin",
        headers: { "Content-Type": "application/json", Accept: "application/json" },
        body: JSON.stringify(body),
      });
      const told = await answer.json().catch(() => ({}));
      return { ok: answer.ok, told: answer.ok || told.message ? told : { message: `Airflow answers ${answer.status}.` } };
    } catch (_) {
      return { ok: false, told: { message: "Airflow cannot be reached." } };
    }
  }

  async function pressed() {
    const mine = turn;
    const body = { ...asked(), seen };
    busy(true);
    const { ok, told } = await send(body);
    if (mine !== turn) return;
    busy(false);
    if (!ok) {
      say("wrong", told.message, told.next && `Do: ${told.next}`, ...(told.would || []));
      seen = told.would ? told.seen : null;
      step(Boolean(told.would));
    } else if (told.would) {
      say("", "This would happen:", ...told.would);
      seen = told.seen;
      step(true);
      part("confirm").focus();
    } else {
      say("done", "Decided:", ...told.decided, "The next run of the copy acts on it.");
      for (const id of ["show", "confirm", "change"]) part(id).hidden = true;
      part("cancel").textContent = "Close";
      part("cancel").focus();
      show(location.href);
    }
  }

  function open(given) {
    turn += 1;
    form.reset();
    busy(false);
    said.replaceChildren();
    part("cancel").textContent = "Cancel";
    step(false);
    if (given.decision) form.decision.value = given.decision;
    form.topic.value = given.topic || "";
    form.partition.value = given.partition || "";
    form.start.value = "";
    if (given.alias) form.alias.value = given.alias;
    fields();
    dialog.showModal();
    (given.decision ? form.reason : form.decision).focus();
  }

  form.decision.addEventListener("change", fields);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    pressed();
  });
  part("cancel").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => (turn += 1));
  part("change").addEventListener("click", () => {
    said.replaceChildren();
    step(false);
    form.reason.focus();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button.decide");
    if (button) open(button.dataset);
  });
  document.documentElement.classList.add("decides"); // from now on the buttons do something, so they are shown
}

if (dialog) decisions();
aged();
setInterval(aged, 1000);
document.addEventListener("visibilitychange", () => document.hidden || show(location.href));
later();
