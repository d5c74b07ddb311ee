"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const FEW = 20;

  for (const each of all(".needs-script")) each.hidden = false;

  // The page of a run that goes on loads itself again, and stays where it was scrolled to.
  const seconds = Number(document.body.dataset.reload);
  if (seconds) setTimeout(() => location.reload(), 1000 * seconds);

  // Light or dark: as the system has it, until somebody says otherwise.
  const theme = $("theme");
  const dark = () => {
    const set = document.documentElement.dataset.theme;
    return set ? set === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const label = () => { theme.setAttribute("aria-pressed", String(dark())); };
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  label();

  // Tables of features: search, a cluster, an order, and the first few until more are asked for.
  const find = $("find"), cluster = $("of-cluster"), count = $("count");
  const tables = all("table.features").map((table) => ({
    table,
    rows: all("tbody tr", table),
    more: table.closest(".view").querySelector(".more"),
    empty: table.closest(".view").querySelector(".none"),
    whole: false,
  }));

  const update = () => {
    const wanted = find.value.trim().toLowerCase(), k = cluster.value;
    let found = 0, total = 0;
    for (const own of tables) {
      let matching = 0;
      for (const row of own.rows) {
        const head = row.cells[1], full = head.querySelector("[title]");
        const text = (full ? full.title : head.textContent).toLowerCase();
        const fits = text.includes(wanted) && (!k || row.dataset.c.split(" ").includes(k));
        if (fits) matching += 1;
        row.hidden = !fits || (!own.whole && matching > FEW);
      }
      own.more.hidden = own.whole || matching <= FEW;
      own.more.textContent = `Show all ${matching.toLocaleString("en")}`;
      own.empty.hidden = matching > 0;
      own.table.closest(".scroll").hidden = matching === 0;
      found += matching;
      total += own.rows.length;
    }
    const some = wanted || k;
    count.textContent = some ? `${found.toLocaleString("en")} of ${total.toLocaleString("en")} features fit` : "";
    for (const each of all(".choose")) {
      each.setAttribute("aria-pressed", String(each.dataset.cluster === k));
    }
    $("clear").hidden = !some;
  };

  for (const own of tables) {
    for (const [i, head] of [...own.table.tHead.rows[0].cells].entries()) {
      if (!head.dataset.sort) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent.trim();
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const first = head.dataset.sort === "falling" ? "descending" : "ascending";
        const way = before === "ascending" ? "descending" : before === "descending" ? "ascending" : first;
        for (const each of own.table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way);
        const sign = way === "ascending" ? 1 : -1;
        const value = (row) => {
          const cell = row.cells[i];
          return "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent.trim().toLowerCase();
        };
        const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
        own.rows.sort((a, b) => sign * order(value(a), value(b)));
        own.table.tBodies[0].append(...own.rows);
        update();
      });
    }
    own.more.addEventListener("click", () => {
      const next = own.rows.find((row) => row.hidden);
      own.whole = true;
      update();
      if (next) { next.tabIndex = -1; next.focus(); }
    });
  }
  find.addEventListener("input", update);
  cluster.addEventListener("change", update);
  $("clear").addEventListener("click", () => {
    find.value = "";
    cluster.value = "";
    update();
    find.focus();
  });
  for (const each of all(".choose")) {
    each.addEventListener("click", () => {
      const chosen = cluster.value === each.dataset.cluster;
      cluster.value = chosen ? "" : each.dataset.cluster;
      update();
      if (!chosen) {
        $("features").scrollIntoView();
        cluster.focus({ preventScroll: true });
      }
    });
  }
  addEventListener("beforeprint", () => {
    for (const own of tables) own.whole = true;
    update();
  });
  update();
})();
