/** Numbers that look random and are the same everywhere for the same seed: 32 bits a call (splitmix32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mixed(state);
  };
}

/** Every bit of the answer hangs on every bit of what is given. */
export function mixed(bits: number): number {
  let z = bits;
  z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
  z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}
