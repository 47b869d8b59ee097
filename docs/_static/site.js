// names for what screen readers would find nameless: pictures that are links, and what opens a list
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".sphx-glr-thumbcontainer")) {
    const title = box.querySelector(".sphx-glr-thumbnail-title")?.textContent.trim() || box.getAttribute("tooltip") || "example";
    for (const link of box.querySelectorAll("a")) link.setAttribute("aria-label", title);
  }
  for (const link of document.querySelectorAll("a.sphx-glr-backref-module-absentia, a[href]")) {
    if (!link.textContent.trim() && !link.querySelector("img[alt]:not([alt=''])") && !link.getAttribute("aria-label")) {
      link.setAttribute("aria-label", link.title || "link");
    }
  }
  for (const summary of document.querySelectorAll("summary")) {
    if (!summary.textContent.trim() && !summary.getAttribute("aria-label")) {
      const name = summary.closest("li")?.querySelector("a")?.textContent.trim() || "pages";
      summary.setAttribute("aria-label", `Pages of ${name}`);
    }
  }
});
