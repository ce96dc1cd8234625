// Watches a long list from within its page, frame by frame: how much of what is in sight has no row in it?
//
// Twice for each frame. `behind`: when the scrolling is told and before the list has moved its rows. A browser scrolls in
// a thread of its own, so that is what it may have shown already; rows beyond the edges are there to cover it.
// `blank`: after the list has moved them, just before the frame is painted. There must always be rows then.
(name) => {
  const list = document.querySelector(`[aria-label="${name}"]`);
  let box = list;
  while (box.parentElement && !/auto|scroll/.test(getComputedStyle(box).overflowY)) box = box.parentElement;
  const seen = { frames: 0, blank: 0, behind: 0, worst: 0, longest: 0, nodes: 0, rows: 0, steps: 0 };

  function uncovered() {
    const frame = box.getBoundingClientRect();
    const whole = list.getBoundingClientRect();
    const top = Math.max(frame.top + box.clientTop, whole.top, 0);
    const bottom = Math.min(frame.top + box.clientTop + box.clientHeight, whole.bottom, innerHeight);
    const rows = [...list.children].filter((row) => row.textContent.trim() !== "");
    const places = rows.map((row) => row.getBoundingClientRect()).sort((one, other) => one.top - other.top);
    let at = top;
    let missing = 0;
    for (const place of places) {
      if (place.bottom <= at || place.top >= bottom) continue;
      missing += Math.max(0, place.top - at);
      at = place.bottom;
    }
    seen.rows = Math.max(seen.rows, rows.length);
    return missing + Math.max(0, bottom - at);
  }

  function scrolled(event) {
    if (event.target !== box) return;
    seen.steps += 1;
    if (uncovered() > 1) seen.behind += 1;
  }

  let last = 0;
  function painted(now) {
    if (stopped) return;
    const missing = uncovered();
    seen.frames += 1;
    if (missing > 1) seen.blank += 1;
    seen.worst = Math.max(seen.worst, missing);
    if (last) seen.longest = Math.max(seen.longest, now - last);
    last = now;
    seen.nodes = Math.max(seen.nodes, document.getElementsByTagName("*").length);
    requestAnimationFrame(painted);
  }

  let stopped = false;
  document.addEventListener("scroll", scrolled, { capture: true });
  requestAnimationFrame(painted);
  window.watchedSoFar = () => ({ ...seen, at: box.scrollTop });
  window.watchedFrames = () => {
    stopped = true;
    document.removeEventListener("scroll", scrolled, { capture: true });
    return seen;
  };
}
