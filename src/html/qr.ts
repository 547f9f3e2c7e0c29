/**
 * QR codes (ISO/IEC 18004) of short texts such as URLs: byte mode, error correction M, versions 1 to 20, which take 666
 * bytes. `drawQr` makes the modules, `renderQr` a picture of them for a page. It reads no QR code.
 */
import { html, raw, type Html } from './html.ts';
import { computeRemainder, makeGenerator } from './reed-solomon.ts';

/** Dark modules are true; rows from the top. */
export type QrModules = readonly (readonly boolean[])[];

/** By version, for error correction M: codewords of correction in a block, and blocks. */
const correctionWords = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26];
const blockCounts = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16];

const maxVersion = blockCounts.length;

/** Null where the text is too long. */
export function drawQr(text: string): QrModules | null {
  const bytes = Buffer.from(text);
  const version = findVersion(bytes.length);
  if (version === null) return null;
  const words = interleaveBlocks(version, packWords(version, bytes));
  const grid = new Grid(version);
  grid.drawFixed();
  grid.drawData(words);
  return grid.chooseMask();
}

/** The text as a picture with the margin that readers need, dark on white in every colour scheme; null if it is too long. */
export function renderQr(text: string, label: string): Html | null {
  const modules = drawQr(text);
  if (modules === null) return null;
  const side = modules.length + 8;
  const runs = modules.flatMap((row, y) =>
    findRuns(row).map(([x, width]) => `M${x + 4} ${y + 4}h${width}v1h-${width}z`),
  );
  const picture = raw(
    `<rect width="${side}" height="${side}" fill="#fff"/><path fill="#000" d="${runs.join('')}"/>`,
  );
  return html`<svg class="qr" viewBox="0 0 ${side} ${side}" role="img" aria-label="${label}">
    ${picture}
  </svg>`;
}

/** Where dark modules follow each other in a row, and how many. */
function findRuns(row: readonly boolean[]): [start: number, length: number][] {
  const runs: [number, number][] = [];
  for (const [x, isDark] of row.entries()) {
    if (!isDark) continue;
    if (row[x - 1] === true) runs.at(-1)![1]++;
    else runs.push([x, 1]);
  }
  return runs;
}

const countAllWords = (version: number): number => Math.floor(new Grid(version).countFree() / 8);

const countDataWords = (version: number): number =>
  countAllWords(version) - correctionWords[version - 1]! * blockCounts[version - 1]!;

const countLengthBits = (version: number): number => (version < 10 ? 8 : 16);

function findVersion(length: number): number | null {
  for (let version = 1; version <= maxVersion; version++)
    if (4 + countLengthBits(version) + 8 * length <= 8 * countDataWords(version)) return version;
  return null;
}

/** Mode, length and bytes as codewords, filled up with the padding of the standard. */
function packWords(version: number, bytes: Uint8Array): number[] {
  const room = countDataWords(version);
  const length = bytes.length.toString(2).padStart(countLengthBits(version), '0');
  const content = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const bits = `0100${length}${content}0000`.slice(0, room * 8);
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
  const words = whole.match(/.{8}/g)!.map((word) => Number.parseInt(word, 2));
  for (let at = 0; words.length < room; at++) words.push(at % 2 === 0 ? 0xec : 0x11);
  return words;
}

/** Splits the data into blocks with their correction, and takes one codeword of each block in turn. */
function interleaveBlocks(version: number, data: readonly number[]): number[] {
  const [count, correction] = [blockCounts[version - 1]!, correctionWords[version - 1]!];
  const generator = makeGenerator(correction);
  const short = Math.floor(data.length / count);
  const firstLong = count - (data.length % count);
  const blocks: number[][] = [];
  for (let at = 0, block = 0; block < count; block++) {
    const length = block < firstLong ? short : short + 1;
    blocks.push(data.slice(at, at + length));
    at += length;
  }
  const corrections = blocks.map((block) => computeRemainder(block, generator));
  return [...takeInTurn(blocks), ...takeInTurn(corrections)];
}

function takeInTurn(lists: readonly (readonly number[])[]): number[] {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

const maskRules: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The modules while they are drawn. Those that do not carry data are fixed. */
class Grid {
  readonly #version: number;
  readonly #size: number;
  readonly #dark: boolean[][];
  readonly #fixed: boolean[][];

  constructor(version: number) {
    this.#version = version;
    this.#size = 17 + 4 * version;
    const make = (): boolean[][] =>
      Array.from({ length: this.#size }, () => Array.from({ length: this.#size }, () => false));
    [this.#dark, this.#fixed] = [make(), make()];
  }

  countFree(): number {
    this.drawFixed();
    return this.#fixed.flat().filter((isFixed) => !isFixed).length;
  }

  /** Patterns by which a reader finds the code, and places for what describes it. */
  drawFixed(): void {
    const [size, end] = [this.#size, this.#size - 7];
    for (let at = 0; at < size; at++) {
      this.#fix(6, at, at % 2 === 0);
      this.#fix(at, 6, at % 2 === 0);
    }
    const marks = this.#listAlignments();
    for (const x of marks)
      for (const y of marks) {
        const isAtFinder = (x === 6 && y === 6) || (x === 6 && y === end) || (x === end && y === 6);
        if (!isAtFinder) this.#drawSquare(x, y, 2);
      }
    for (const [x, y] of [
      [3, 3],
      [size - 4, 3],
      [3, size - 4],
    ] as const)
      this.#drawSquare(x, y, 4);
    this.#drawFormat(0);
    this.#drawVersion();
  }

  /** Rings around a middle: light at a distance of 2 in the finders, and of 1 in all. */
  #drawSquare(middleX: number, middleY: number, reach: number): void {
    for (let y = -reach; y <= reach; y++)
      for (let x = -reach; x <= reach; x++) {
        const distance = Math.max(Math.abs(x), Math.abs(y));
        const isDark = reach === 4 ? distance !== 2 && distance !== 4 : distance !== 1;
        this.#fix(middleX + x, middleY + y, isDark);
      }
  }

  #listAlignments(): number[] {
    if (this.#version === 1) return [];
    const count = Math.floor(this.#version / 7) + 2;
    const step = 2 * Math.ceil((this.#size - 13) / (2 * count - 2));
    const rest = Array.from({ length: count - 1 }, (_, at) => this.#size - 7 - at * step);
    return [6, ...rest.toReversed()];
  }

  /** Which mask is used and how errors are corrected, twice. Level M is 00. */
  #drawFormat(mask: number): void {
    const bits = ((mask << 10) | divideBits(mask, 10, 0x5_37)) ^ 0x54_12;
    const isSet = (at: number): boolean => ((bits >> at) & 1) === 1;
    const last = this.#size - 1;
    for (let at = 0; at < 15; at++) {
      const near = at < 6 ? at : at < 8 ? at + 1 : null;
      if (near === null) this.#fix(at === 8 ? 7 : 14 - at, 8, isSet(at));
      else this.#fix(8, near, isSet(at));
      if (at < 8) this.#fix(last - at, 8, isSet(at));
      else this.#fix(8, last - 14 + at, isSet(at));
    }
    this.#fix(8, last - 7, true);
  }

  #drawVersion(): void {
    if (this.#version < 7) return;
    const bits = (this.#version << 12) | divideBits(this.#version, 12, 0x1f_25);
    for (let at = 0; at < 18; at++) {
      const [far, near] = [this.#size - 11 + (at % 3), Math.floor(at / 3)];
      this.#fix(far, near, ((bits >> at) & 1) === 1);
      this.#fix(near, far, ((bits >> at) & 1) === 1);
    }
  }

  #fix(x: number, y: number, isDark: boolean): void {
    if (x < 0 || y < 0 || x >= this.#size || y >= this.#size) return;
    this.#dark[y]![x] = isDark;
    this.#fixed[y]![x] = true;
  }

  /** In pairs of columns from the right, up and down in turn. What is left over stays light. */
  drawData(words: readonly number[]): void {
    let bit = 0;
    let isUpward = true;
    for (let right = this.#size - 1; right > 0; right -= right === 8 ? 3 : 2, isUpward = !isUpward)
      for (let step = 0; step < this.#size; step++) {
        const y = isUpward ? this.#size - 1 - step : step;
        for (const x of [right, right - 1]) {
          if (this.#fixed[y]![x]!) continue;
          this.#dark[y]![x] = (((words[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1;
          bit++;
        }
      }
  }

  /** The mask that leaves the least of what confuses readers. */
  chooseMask(): QrModules {
    const candidates = maskRules.map((rule, mask) => {
      this.#drawFormat(mask);
      const modules = this.#dark.map((row, y) =>
        row.map((isDark, x) => isDark !== (!this.#fixed[y]![x]! && rule(x, y))),
      );
      return { modules, penalty: computePenalty(modules) };
    });
    return candidates.reduce((best, one) => (one.penalty < best.penalty ? one : best)).modules;
  }
}

/** The remainder of a number behind which zeros stand, by a divisor, without carries (BCH). */
function divideBits(value: number, zeros: number, divisor: number): number {
  let rest = value;
  for (let step = 0; step < zeros; step++) rest = (rest << 1) ^ ((rest >> (zeros - 1)) * divisor);
  return rest;
}

/** Long runs, blocks of one colour, what looks like a finder, and too much of one colour. */
export function computePenalty(modules: QrModules): number {
  const columns = modules.map((_, x) => modules.map((row) => row[x]!));
  const lines = [...modules, ...columns].map((line) => line.map((isDark) => (isDark ? '1' : '0')).join(''));
  const inLines = lines.reduce((sum, line) => sum + judgeLine(line), 0);
  const dark = modules.flat().filter(Boolean).length;
  const imbalance = Math.abs(dark * 20 - modules.length ** 2 * 10);
  return (
    inLines + 3 * countBlocks(modules) + 10 * Math.max(0, Math.ceil(imbalance / modules.length ** 2) - 1)
  );
}

function judgeLine(line: string): number {
  const runs = line.match(/0{5,}|1{5,}/g) ?? [];
  const finders = line.match(/(?=10111010000|00001011101)/g) ?? [];
  return runs.reduce((sum, run) => sum + run.length - 2, 0) + 40 * finders.length;
}

function countBlocks(modules: QrModules): number {
  let count = 0;
  for (let y = 1; y < modules.length; y++)
    for (let x = 1; x < modules.length; x++) {
      const one = modules[y]![x];
      if (one === modules[y - 1]![x] && one === modules[y]![x - 1] && one === modules[y - 1]![x - 1]) count++;
    }
  return count;
}
