/** One line of a program. A label names the instruction after it; `null` as a target goes on with the next. */
export type BpfLine =
  | { readonly op: 'label'; readonly name: string }
  /** Loads the 32-bit word at this offset of `struct seccomp_data`. */
  | { readonly op: 'load'; readonly offset: number }
  | BpfComparison
  | { readonly op: 'return'; readonly value: number };

/** Compares the word loaded last; both targets are further down, since BPF has no backward jumps. */
interface BpfComparison {
  readonly op: 'equal' | 'at least' | 'any bit';
  readonly value: number;
  readonly yes: string | null;
  readonly no: string | null;
}

const loadWord = 0x20;
const jumpAlways = 0x05;
const returnVerdict = 0x06;
const comparisons = { equal: 0x15, 'at least': 0x35, 'any bit': 0x45 } as const;
const instructionBytes = 8;
/** A comparison has one byte for each distance; an unconditional jump has 32 bits. */
const maxJump = 255;
const maxInstructions = 4096;

/** Makes an array of `struct sock_filter`, little endian. */
export function assemble(lines: readonly BpfLine[]): Buffer {
  const far = findFarComparisons(lines);
  const { labels, starts, length } = layOutProgram(lines, far);
  if (length > maxInstructions) throw new RangeError(`${length} instructions are more than the kernel takes`);
  const program = Buffer.alloc(length * instructionBytes);
  for (const [index, line] of lines.entries()) {
    const start = starts[index]!;
    for (const [step, words] of encodeLine(line, start, labels, far.has(line)).entries())
      writeInstruction(program, start + step, words);
  }
  return program;
}

type Instruction = readonly [code: number, yes: number, no: number, value: number];

function encodeLine(line: BpfLine, start: number, labels: Map<string, number>, far: boolean): Instruction[] {
  if (line.op === 'label') return [];
  if (line.op === 'load') return [[loadWord, 0, 0, line.offset]];
  if (line.op === 'return') return [[returnVerdict, 0, 0, line.value]];
  const code = comparisons[line.op];
  const next = start + countInstructions(line, far);
  const yes = resolveLabel(line.yes, labels, next);
  const no = resolveLabel(line.no, labels, next);
  if (!far) return [[code, yes - next, no - next, line.value]];
  return [
    [code, 0, 1, line.value],
    [jumpAlways, 0, 0, yes - (start + 2)],
    [jumpAlways, 0, 0, no - (start + 3)],
  ];
}

/** The comparisons that need a jump of their own. Lengthening one can put another out of reach, hence the loop. */
function findFarComparisons(lines: readonly BpfLine[]): Set<BpfLine> {
  const far = new Set<BpfLine>();
  for (let before = -1; before !== far.size;) {
    before = far.size;
    const { labels, starts } = layOutProgram(lines, far);
    for (const [index, line] of lines.entries())
      if ('yes' in line && !isNear(line, starts[index]! + 1, labels)) far.add(line);
  }
  return far;
}

function isNear({ yes, no }: BpfComparison, next: number, labels: Map<string, number>): boolean {
  return [yes, no].every((name) => resolveLabel(name, labels, next) - next <= maxJump);
}

function layOutProgram(
  lines: readonly BpfLine[],
  far: ReadonlySet<BpfLine>,
): { labels: Map<string, number>; starts: number[]; length: number } {
  const labels = new Map<string, number>();
  const starts: number[] = [];
  let length = 0;
  for (const line of lines) {
    if (line.op === 'label') labels.set(line.name, length);
    starts.push(length);
    length += countInstructions(line, far.has(line));
  }
  return { labels, starts, length };
}

function countInstructions(line: BpfLine, far: boolean): number {
  if (line.op === 'label') return 0;
  return far ? 3 : 1;
}

function resolveLabel(name: string | null, labels: Map<string, number>, next: number): number {
  if (name === null) return next;
  const position = labels.get(name);
  if (position === undefined || position < next)
    throw new RangeError(`nothing further down is called ${name}`);
  return position;
}

function writeInstruction(program: Buffer, position: number, [code, yes, no, value]: Instruction): void {
  const at = position * instructionBytes;
  program.writeUInt16LE(code, at);
  program.writeUInt8(yes, at + 2);
  program.writeUInt8(no, at + 3);
  program.writeUInt32LE(value, at + 4);
}
