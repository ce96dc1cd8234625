// Time comes from the host, once a step: a replay sees the same. This part stands before all others, so that whatever
// they take from Date is already ours. What can tell one run from another (the garbage collector, threads) is left out.
let clock = 0;
const setClock = (given) => { clock = given; };

{
  const RealDate = Date;
  const { construct, apply } = Reflect;
  const OurDate = function Date(...args) {
    if (new.target === undefined) return new RealDate(clock).toString();
    return construct(RealDate, args.length === 0 ? [clock] : args, new.target);
  };
  const constant = (value) => ({ value, writable: true, enumerable: false, configurable: true });
  const give = (target, name, value) => Object.defineProperty(target, name, constant(value));
  const { parse, UTC } = RealDate;
  Object.defineProperty(OurDate, "prototype", { value: RealDate.prototype, writable: false });
  Object.defineProperty(OurDate, "length", { value: 7 });
  give(OurDate, "now", function now() { return clock; });
  give(OurDate, "parse", parse);
  give(OurDate, "UTC", UTC);
  give(RealDate.prototype, "constructor", OurDate);
  give(globalThis, "Date", OurDate);

  const formats = Intl.DateTimeFormat.prototype;
  const format = Object.getOwnPropertyDescriptor(formats, "format").get;
  Object.defineProperty(formats, "format", {
    get() {
      const bound = apply(format, this, []);
      return (date) => bound(date === undefined ? clock : date);
    },
    configurable: true,
  });
  const { formatToParts } = formats;
  give(formats, "formatToParts", function (date) { return apply(formatToParts, this, [date === undefined ? clock : date]); });

  if (typeof Temporal === "object") {
    const { Instant } = Temporal;
    const zoned = (zone = "UTC") => Instant.fromEpochMilliseconds(clock).toZonedDateTimeISO(zone);
    const now = Object.create(Object.getPrototypeOf(Temporal.Now), {
      instant: constant(() => Instant.fromEpochMilliseconds(clock)),
      timeZoneId: constant(() => "UTC"),
      zonedDateTimeISO: constant(zoned),
      plainDateTimeISO: constant((zone) => zoned(zone).toPlainDateTime()),
      plainDateISO: constant((zone) => zoned(zone).toPlainDate()),
      plainTimeISO: constant((zone) => zoned(zone).toPlainTime()),
    });
    give(Temporal, "Now", now);
  }
  for (const name of ["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry"]) delete globalThis[name];
  Error.stackTraceLimit = 50;

  // To code that wants to format stacks itself V8 gives frames made in the process's own realm, a way out of this one.
  // It looks for that code at the global Error, so both stay as they are; assigning to them is passed over.
  const fixed = (target, name, value) =>
    Object.defineProperty(target, name, { get: () => value, set() {}, enumerable: false, configurable: false });
  fixed(Error, "prepareStackTrace", undefined);
  fixed(globalThis, "Error", Error);
}
