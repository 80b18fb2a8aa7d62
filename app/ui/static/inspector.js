// Opens or closes every message at once. Without it each can still be opened by itself.
"use strict";
for (const button of document.querySelectorAll("button[data-toggle]")) {
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
