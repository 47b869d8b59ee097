"use strict";
// Tables sort by their headers and can be downloaded as CSV, code can be copied; without this script they are
// plain tables and plain code.
(() => {
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  // What a cell says, without what is there for the eye or for screen readers only.
  const text = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".unseen, .tag, small, svg, title").forEach((part) => part.remove());
    return copy.textContent.replace(/[ \t\n]+/g, " ").trim();
  };
  const value = (cell) => cell.dataset.v ?? text(cell);

  // The number that a text begins with, or null; digits may be grouped, powers of ten raised.
  const amount = (words) => {
    const plain = words
      .replace(/[\s\u202f]/g, "").replace(/[−⁻]/g, "-").replace(/^[≤≥+]/, "").replace("×10", "e")
      .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (digit) => RAISED.indexOf(digit));
    const found = plain.match(/^-?\d+(\.\d+)?(e-?\d+)?/);
    return found ? Number(found[0]) : null;
  };

  const isBar = (head) => head.querySelector(".unseen") !== null;

  const sort = (table, column, down) => {
    const body = table.tBodies[0], figures = table.tHead.rows[0].cells[column].classList.contains("figure");
    const keyed = [...body.rows].map((row) => {
      const words = value(row.cells[column]);
      return { row, words, number: figures ? amount(words) : null };
    });
    keyed.sort((a, b) => {
      if (figures && (a.number === null || b.number === null)) return (a.number === null) - (b.number === null);
      const order = figures ? a.number - b.number : a.words.localeCompare(b.words, undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...keyed.map((one) => one.row));
  };

  const makeSortable = (table) => {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (isBar(head)) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort"), figures = head.classList.contains("figure");
        const down = before ? before === "ascending" : figures;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      });
    });
  };

  // Spreadsheets run what begins like a formula: such texts get an apostrophe before them.
  const field = (words, figure) => {
    const whole = figure && /^[−+-]?[\d.\u202f]+(×10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?$/.test(words);
    const plain = whole ? String(amount(words)) : words;
    const safe = /^'*[=+\-@\t\r\n]/.test(plain) && !/^-?[\d.]+(e[+-]?\d+)?$/.test(plain) ? "'" + plain : plain;
    return /[,;"\s]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };

  const cellField = (cell) => field(value(cell), cell.tagName === "TD" && cell.classList.contains("figure"));

  const csv = (table) => {
    const kept = [...table.tHead.rows[0].cells].map((head) => !isBar(head));
    const line = (row) => [...row.cells].filter((_, i) => kept[i]).map(cellField).join(",");
    return [table.tHead.rows[0], ...table.tBodies[0].rows].map(line).join("\n") + "\n";
  };

  // The name of a file that holds this of the page.
  const fileName = (what) => {
    const words = `${document.title.toLowerCase().slice(0, 60)} ${what.toLowerCase()}`.match(/[a-z0-9]+/g);
    return (words ?? ["table"]).slice(-12).join("-") + ".csv";
  };

  document.querySelectorAll("a[download]").forEach((link) => { link.download = fileName(link.download.replace(/\.csv$/, "")); });
  document.querySelectorAll("table").forEach((table) => {
    if (table.dataset.file) {
      const link = document.createElement("a"), place = document.createElement("p");
      link.href = "data:text/csv;charset=utf-8," + encodeURIComponent(csv(table));
      link.download = fileName(table.dataset.file);
      link.textContent = "Download as CSV";
      place.className = "download";
      place.append(link);
      (table.closest(".scroll") ?? table).after(place);
    }
    if (table.dataset.fixed === undefined && table.tBodies[0].rows.length > 1) makeSortable(table);
  });

  // Where the clipboard is closed to pages, the text is selected instead.
  const select = (node) => getSelection().selectAllChildren(node);
  document.querySelectorAll(".code").forEach((block) => {
    const button = document.createElement("button"), code = block.querySelector("code");
    const say = (words) => {
      button.textContent = words;
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    };
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
        say("Copied");
      } catch {
        select(code);
        say(document.execCommand("copy") ? "Copied" : "Selected");
      }
    });
    block.append(button);
  });
})();
