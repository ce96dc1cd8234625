// `Intl` and the methods that depend on a locale are evaluated when a program first uses one: few do, and the room they
// take would cost every program page faults. LOCALIZATION is their text, with the names it takes from here.
const evaluate = globalThis.eval;
const substitutes = new WeakMap();
let isLocalized = false;

const localize = () => {
  if (isLocalized) return;
  isLocalized = true;
  apply(evaluate(LOCALIZATION.text), undefined, LOCALIZATION.shared());
};

// A method as it is until then. What code put in its place meanwhile stays.
const substitute = (target, name) => {
  const made = {
    [name](...args) {
      localize();
      return apply(target[name], this, args);
    },
  }[name];
  weakSet(substitutes, made, true);
  defineProperty(target, name, { __proto__: null, value: made, writable: true, configurable: true });
};
const defineMethod = (target, name, value) => {
  const found = target[name];
  if (typeof found === "function" && weakGet(substitutes, found) === true) {
    defineProperty(target, name, { __proto__: null, value, writable: true, configurable: true });
  }
};

substitute(Number.prototype, "toLocaleString");
substitute(BigInt.prototype, "toLocaleString");
substitute(Array.prototype, "toLocaleString");
substitute(typedArrayPrototype, "toLocaleString");
substitute(Date.prototype, "toLocaleString");
substitute(Date.prototype, "toLocaleDateString");
substitute(Date.prototype, "toLocaleTimeString");
substitute(String.prototype, "localeCompare");
substitute(String.prototype, "toLocaleUpperCase");
substitute(String.prototype, "toLocaleLowerCase");

const Intl = {};
defineProperty(globalThis, "Intl", {
  get() {
    localize();
    expose("Intl", Intl);
    return Intl;
  },
  set(value) { expose("Intl", value); },
  enumerable: false,
  configurable: true,
});
