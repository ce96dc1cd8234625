// A timer of less than a millisecond runs once the promise jobs are done. A longer one is proposed to the host like a
// call, so that its place among the answers is journalled.
const due = queue();
const timers = create(null);
let timerCount = 0;
let localTurns = 0;
const LOCAL_TURNS = 10000;
const LONGEST = 2147483647;

const milliseconds = (delay) => {
  const given = number(delay);
  return given >= 1 && given <= LONGEST ? floor(given) : given > LONGEST ? LONGEST : 0;
};

const schedule = (timer) => {
  // A chain of zero delays that never ends would never let the step end: after a while each link costs a proposal.
  if (timer.delay < 1 && localTurns++ < LOCAL_TURNS) due.push(timer);
  else propose("t", text(max(timer.delay, 1)), { __proto__: null, resolve: null, reject: null, error: null, timer });
};

const setTimer = (callback, delay, args, repeats) => {
  if (end !== null) throw new GlobalError("the execution has ended");
  if (typeof callback !== "function") throw new GlobalTypeError("a timer needs a function to call");
  const id = ++timerCount;
  const timer = { __proto__: null, id, callback, args, delay: milliseconds(delay), repeats };
  timers[id] = timer;
  schedule(timer);
  return id;
};

const fire = (timer) => {
  if (timers[timer.id] !== timer) return;
  if (!timer.repeats) delete timers[timer.id];
  try {
    apply(timer.callback, undefined, timer.args);
  } catch (error) {
    fail(error);
  }
  if (timer.repeats && timers[timer.id] === timer) schedule(timer);
};

const clearTimer = (id) => {
  if (typeof id === "number") delete timers[id];
};

expose("setTimeout", function setTimeout(callback, delay, ...args) { return setTimer(callback, delay, args, false); });
expose("setInterval", function setInterval(callback, delay, ...args) { return setTimer(callback, delay, args, true); });
expose("clearTimeout", function clearTimeout(id) { clearTimer(id); });
expose("clearInterval", function clearInterval(id) { clearTimer(id); });
expose("setImmediate", function setImmediate(callback, ...args) { return setTimer(callback, 0, args, false); });
expose("clearImmediate", function clearImmediate(id) { clearTimer(id); });

expose("performance", {
  now() { return dateNow() - program.started; },
  get timeOrigin() { return program.started; },
});
