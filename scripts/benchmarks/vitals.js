// Collects, from the first moment of a page, what its visitor feels: paints, shifts, and the time in which it is deaf.
(() => {
  const told = { fcp: 0, lcp: 0, shift: 0, tasks: [] };
  const watch = (type, note) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
  watch("paint", (entry) => {
    if (entry.name === "first-contentful-paint") told.fcp = entry.startTime;
  });
  watch("largest-contentful-paint", (entry) => {
    told.lcp = entry.startTime;
  });
  watch("layout-shift", (entry) => {
    if (!entry.hadRecentInput) told.shift += entry.value;
  });
  watch("longtask", (entry) => told.tasks.push([entry.startTime, entry.duration]));
  const loading = () =>
    !document.querySelector("h1") || [...document.querySelectorAll(".sr-only")].some((one) => one.textContent === "Loading");
  window.vitals = {
    told: () => ({
      ...told,
      blocked: told.tasks.reduce((sum, [at, took]) => sum + (at >= told.fcp ? Math.max(0, took - 50) : 0), 0),
    }),
    loading,
    // Milliseconds from a click on the way to a page until its content is there.
    go: (href) =>
      new Promise((done) => {
        const began = performance.now();
        const look = () =>
          location.pathname === href && !loading() ? done(performance.now() - began) : requestAnimationFrame(look);
        document.querySelector(`nav a[href="${href}"]`).click();
        requestAnimationFrame(look);
      }),
    // Milliseconds from a key until the first row of the list is the one that was looked for.
    answered: (name, text) =>
      new Promise((done) => {
        const typed = () => {
          const began = performance.now();
          const look = () =>
            document.querySelector(`[aria-label="${name}"]`)?.children[0]?.textContent.includes(text)
              ? done(performance.now() - began)
              : requestAnimationFrame(look);
          look();
        };
        document.addEventListener("keydown", typed, { once: true, capture: true });
      }),
  };
})();
