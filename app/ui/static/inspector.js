// Times in the reader's zone, one button for all messages, and lists that follow what happens. Every page works without.
"use strict";

const two = (number) => String(number).padStart(2, "0");

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    time.textContent = `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
    time.title = time.dateTime;
  }
}

function nameZone() {
  for (const place of document.querySelectorAll("[data-zone]")) {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    place.textContent = place.dataset.zone.replace("{zone}", timeZone);
  }
}

function toggles(root) {
  for (const button of root.querySelectorAll("button[data-toggle]")) {
    const section = document.getElementById(button.dataset.toggle);
    const all = () => Array.from(section.querySelectorAll("details.message"));
    const name = () => {
      button.textContent = all().every((item) => item.open) ? button.dataset.close : button.dataset.open;
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = !all().every((item) => item.open);
      for (const item of all()) item.open = open;
      name();
    });
    section.addEventListener("toggle", name, true);
    name();
  }
}

function copies(root) {
  if (!navigator.clipboard) return; // over plain HTTP from another machine
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = button.dataset.copied;
    });
  }
}

let begun = null; // how much was left when the page began to count

function timesLeft(root) {
  for (const place of root.querySelectorAll("[data-left]")) {
    const [left, at] = [Number(place.dataset.left), Date.now()];
    if (begun === null || left > begun.left) begun = { left, at };
    const minutes = Math.ceil((left * (at - begun.at)) / (begun.left - left) / 60_000);
    if (Number.isFinite(minutes)) place.textContent = place.dataset.eta.replace("{minutes}", minutes);
  }
}

function ready(root) {
  for (const prepare of [localTimes, toggles, copies, timesLeft]) prepare(root);
}

// --- Live: parts of the page with data-live are replaced when they have changed, unless somebody is at work in them.

const EVERY = 10_000; // milliseconds; a request each counts for a key's limit
const shown = new Map();
const button = document.querySelector("button[data-live-switch]");
let timer = null;

const lives = (root) => Array.from(root.querySelectorAll("[data-live]"));
const label = (item) => item.querySelector("summary").textContent;

function isBusy(region) {
  const selection = document.getSelection();
  const isSelected = selection && !selection.isCollapsed && region.contains(selection.anchorNode);
  const fields = Array.from(region.querySelectorAll("input, textarea"));
  return isSelected || region.contains(document.activeElement) || fields.some((one) => one.value !== one.defaultValue);
}

function replace(region, fresh) {
  const open = new Set(Array.from(region.querySelectorAll("details[open]"), label));
  const closed = new Set(Array.from(region.querySelectorAll("details:not([open])"), label));
  region.innerHTML = fresh.innerHTML;
  for (const item of region.querySelectorAll("details")) {
    if (open.has(label(item))) item.open = true;
    else if (closed.has(label(item))) item.open = false;
  }
  ready(region);
}

async function refresh() {
  if (document.hidden) return;
  let page;
  try {
    const answer = await fetch(location.href, { redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    stop(); // signed out, or the service is away: what is shown stays
    return;
  }
  for (const fresh of lives(page)) {
    const region = document.getElementById(fresh.id);
    if (region && shown.get(fresh.id) !== fresh.innerHTML && !isBusy(region)) {
      replace(region, fresh);
      shown.set(fresh.id, fresh.innerHTML);
    }
  }
}

function stop() {
  clearInterval(timer);
  timer = null;
  button.setAttribute("aria-pressed", "false");
}

function start() {
  timer = setInterval(refresh, EVERY);
  button.setAttribute("aria-pressed", "true");
}

for (const region of lives(document)) shown.set(region.id, region.innerHTML);
nameZone();
ready(document);
if (shown.size > 0) {
  button.hidden = false;
  button.addEventListener("click", () => (timer === null ? (start(), refresh()) : stop()));
  document.addEventListener("visibilitychange", () => timer !== null && refresh());
  start();
}
