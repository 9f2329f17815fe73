"use strict";
// Hides what is not asked for. The page is complete without it.
(() => {
  const find = (id) => document.getElementById(id);
  const steps = [...document.querySelectorAll(".step")];
  const folds = [...document.querySelectorAll(".again")];
  const choices = { class: find("by-class"), round: find("by-round"), kind: find("by-kind") };
  const needs = { image: find("with-image"), trouble: find("with-trouble") };

  const wanted = (step) =>
    Object.entries(choices).every(([name, { value }]) => value === "" || step.dataset[name] === value || step.dataset[name] === "*") &&
    Object.entries(needs).every(([name, { checked }]) => !checked || name in step.dataset);

  const apply = () => {
    for (const step of steps) step.hidden = !wanted(step);
    for (const fold of folds) fold.open = needs.trouble.checked;
    find("shown").textContent = `${steps.filter((step) => !step.hidden).length} of ${steps.length} shown`;
  };

  const reset = () => {
    for (const choice of Object.values(choices)) choice.value = "";
    for (const need of Object.values(needs)) need.checked = false;
    apply();
  };

  // A link into the page must lead somewhere, whatever is hidden.
  const reveal = () => {
    const target = find(decodeURIComponent(location.hash.slice(1)));
    if (target === null) return;
    const unseen = target.closest(".step")?.hidden ?? false;
    if (unseen) reset();
    const fold = target.closest("details:not([open])");
    if (fold !== null) fold.open = true;
    if (!unseen && fold === null) return;
    target.scrollIntoView();
  };

  for (const control of [...Object.values(choices), ...Object.values(needs)]) control.addEventListener("change", apply);
  find("reset").addEventListener("click", reset);
  find("go").addEventListener("change", () => { location.hash = `r${find("go").value}`; });
  addEventListener("hashchange", reveal);
  reset();
  reveal();
  find("filters").hidden = false;
})();
