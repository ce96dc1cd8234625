// All executions start from the same image: without a seed of their own they would share one sequence of numbers.
const random = { __proto__: null, a: 0, b: 0, c: 0, d: 0 };
const key = new Uint32Array(4);
const block = new Uint8Array(64);
const state = new Uint32Array(16);
const words = new Uint32Array(16);
let blockNumber = 0;
let blockUsed = 64;

// Small fast counter (sfc32): Math.random needs speed and repeatability.
const nextWord = () => {
  const sum = (((random.a + random.b) | 0) + random.d) | 0;
  random.d = (random.d + 1) | 0;
  random.a = random.b ^ (random.b >>> 9);
  random.b = (random.c + (random.c << 3)) | 0;
  random.c = ((random.c << 21) | (random.c >>> 11)) + sum | 0;
  return sum >>> 0;
};

const rotate = (value, bits) => (value << bits) | (value >>> (32 - bits));
const quarter = (a, b, c, d) => {
  words[a] += words[b]; words[d] = rotate(words[d] ^ words[a], 16);
  words[c] += words[d]; words[b] = rotate(words[b] ^ words[c], 12);
  words[a] += words[b]; words[d] = rotate(words[d] ^ words[a], 8);
  words[c] += words[d]; words[b] = rotate(words[b] ^ words[c], 7);
};

// ChaCha20 with the 128 bit seed as its key, so that values shown to others tell nothing about the next ones.
const nextBlock = () => {
  for (let i = 0; i < 4; i++) state[4 + i] = state[8 + i] = key[i];
  state[0] = 0x61707865; state[1] = 0x3120646e; state[2] = 0x79622d36; state[3] = 0x6b206574;
  state[12] = blockNumber++;
  for (let i = 0; i < 16; i++) words[i] = state[i];
  for (let round = 0; round < 10; round++) {
    quarter(0, 4, 8, 12); quarter(1, 5, 9, 13); quarter(2, 6, 10, 14); quarter(3, 7, 11, 15);
    quarter(0, 5, 10, 15); quarter(1, 6, 11, 12); quarter(2, 7, 8, 13); quarter(3, 4, 9, 14);
  }
  for (let i = 0; i < 64; i++) block[i] = (words[i >> 2] + state[i >> 2]) >>> ((i & 3) * 8);
  blockUsed = 0;
};

const nextByte = () => {
  if (blockUsed === 64) nextBlock();
  return block[blockUsed++];
};

const reseed = (seed) => {
  random.a = seed[0]; random.b = seed[1]; random.c = seed[2]; random.d = seed[3];
  for (let i = 0; i < 4; i++) key[i] = seed[i];
  for (let i = 0; i < 15; i++) nextWord();
};

defineProperty(Math, "random", {
  value: function random() { return nextWord() / 4294967296; },
  writable: true,
  configurable: true,
});

const GlobalUint8Array = Uint8Array;
const typedArrayPrototype = getPrototypeOf(Uint8Array.prototype);
const typedTag = getter(typedArrayPrototype, Symbol.toStringTag);
const typedBuffer = getter(typedArrayPrototype, "buffer");
const typedOffset = getter(typedArrayPrototype, "byteOffset");
const typedByteLength = getter(typedArrayPrototype, "byteLength");

const hex = (byte) => "0123456789abcdef"[byte >> 4] + "0123456789abcdef"[byte & 15];

const crypto = {
  getRandomValues(array) {
    const tag = typedTag(array);
    if (tag === undefined || startsWith(tag, "Float")) {
      throw new GlobalTypeError("crypto.getRandomValues takes an integer typed array");
    }
    if (typedByteLength(array) > 65536) {
      throw new GlobalRangeError("crypto.getRandomValues gives at most 65536 bytes at once");
    }
    const bytes = new GlobalUint8Array(typedBuffer(array), typedOffset(array), typedByteLength(array));
    for (let i = 0; i < bytes.length; i++) bytes[i] = nextByte();
    return array;
  },
  randomUUID() {
    let out = "";
    for (let i = 0; i < 16; i++) {
      let byte = nextByte();
      if (i === 6) byte = (byte & 15) | 64;
      if (i === 8) byte = (byte & 63) | 128;
      out += (i === 4 || i === 6 || i === 8 || i === 10 ? "-" : "") + hex(byte);
    }
    return out;
  },
  createHash() { throw noHashes("crypto.createHash"); },
  createHmac() { throw noHashes("crypto.createHmac"); },
  get subtle() { throw noHashes("crypto.subtle"); },
};
const noHashes = (name) =>
  hinted(new GlobalTypeError(name + " is not available in the sandbox"), "hashes are in Python's hashlib: send that part as Python");
expose("crypto", crypto);
