/**
 * Whether a version is one of those that were asked for: by PEP 440 for Python, by semantic versioning for Node, as far
 * as `names.ts` lets ranges through. Which version is installed, pip and npm decide, not this.
 */

/** Release numbers first, then what comes before and after the release itself. */
interface PythonVersion {
  readonly epoch: number;
  readonly release: readonly number[];
  /** Smaller is earlier: of `a1`, `b1`, `rc1` and none. */
  readonly before: readonly [stage: number, number: number];
  readonly post: number;
  readonly dev: number;
  readonly local: string;
}

const pythonPattern =
  /^v?(?:(\d{1,9})!)?(\d{1,12}(?:\.\d{1,12})*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d{0,12}))?(?:-(\d{1,12})|[-_.]?(?:post|rev|r)[-_.]?(\d{0,12}))?(?:[-_.]?dev[-_.]?(\d{0,12}))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$/i;
const stages: Readonly<Record<string, number>> = { a: 0, alpha: 0, b: 1, beta: 1 };
const candidate = 2;
const final = 3;

function parsePythonVersion(text: string): PythonVersion | null {
  const match = pythonPattern.exec(text);
  if (match === null) return null;
  const [, epoch = '0', release, stage, stageNumber, shortPost, post, dev, local = ''] = match;
  const isDev = dev !== undefined;
  const after = shortPost ?? post;
  // A development release comes before all else of its number.
  const plain = isDev && after === undefined ? -1 : final;
  return {
    epoch: Number(epoch),
    release: release!.split('.').map(Number),
    before:
      stage === undefined ? [plain, 0] : [stages[stage.toLowerCase()] ?? candidate, Number(stageNumber)],
    post: after === undefined ? -1 : Number(after),
    dev: isDev ? Number(dev) : Number.MAX_SAFE_INTEGER,
    local: local.toLowerCase(),
  };
}

/** Negative if the first is earlier. Missing numbers are 0, so that 1.0 is 1.0.0. */
function compareLists(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const difference = (one[at] ?? 0) - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const comparePython = (one: PythonVersion, other: PythonVersion): number =>
  one.epoch - other.epoch ||
  compareLists(one.release, other.release) ||
  compareLists(one.before, other.before) ||
  one.post - other.post ||
  one.dev - other.dev;

/** Whether a version of a Python package is in a range such as `>=2,<3`; an empty one takes every version. */
export function fitsPythonRange(range: string, text: string): boolean {
  const version = parsePythonVersion(text);
  if (range === '') return true;
  if (version === null) return range === `==${text}` || range === `===${text}`;
  return range.split(',').every((clause) => fitsPythonClause(clause, version, text));
}

function fitsPythonClause(clause: string, version: PythonVersion, text: string): boolean {
  const [, operator, wanted] = /^(===|==|~=|!=|<=|>=|<|>)(.+)$/.exec(clause) ?? [];
  if (operator === undefined || wanted === undefined) return false;
  if (operator === '===') return wanted === text;
  if (wanted.endsWith('.*')) return fitsPrefix(wanted.slice(0, -2), version) === (operator === '==');
  const bound = parsePythonVersion(wanted);
  if (bound === null) return false;
  const order = comparePython(version, bound);
  // A local version such as 1.0+cpu is a 1.0, unless one is asked for.
  const isEqual = order === 0 && (bound.local === '' || bound.local === version.local);
  switch (operator) {
    case '==':
      return isEqual;
    case '!=':
      return !isEqual;
    case '<=':
      return order <= 0;
    case '>=':
      return order >= 0;
    case '<':
      return order < 0;
    case '>':
      return order > 0;
    default:
      // Compatible: not earlier, and the same but for the last number.
      return order >= 0 && fitsPrefix(wanted.replace(/\.\d+[^.]*$/, ''), version);
  }
}

function fitsPrefix(wanted: string, { epoch, release }: PythonVersion): boolean {
  const prefix = parsePythonVersion(wanted);
  if (prefix === null || prefix.epoch !== epoch) return false;
  return prefix.release.every((number, at) => (release[at] ?? 0) === number);
}

interface NodeVersion {
  readonly numbers: readonly [number, number, number];
  /** What stands behind a dash; empty for a release. */
  readonly before: string;
}

const nodePattern = /^v?(\d{1,12})\.(\d{1,12})\.(\d{1,12})(?:-([\w.-]+))?(?:\+[\w.-]+)?$/;

function parseNodeVersion(text: string): NodeVersion | null {
  const match = nodePattern.exec(text);
  if (match === null) return null;
  const [, major, minor, patch, before = ''] = match;
  return { numbers: [Number(major), Number(minor), Number(patch)], before };
}

function compareNode(one: NodeVersion, other: NodeVersion): number {
  const order = compareLists(one.numbers, other.numbers);
  if (order !== 0 || one.before === other.before) return order;
  if (one.before === '' || other.before === '') return one.before === '' ? 1 : -1;
  return one.before.localeCompare(other.before, 'en', { numeric: true });
}

/**
 * Whether a version of a Node package is in a range such as `^1.2`, `1.x` or `>=2`; an empty one takes every version. A
 * tag such as `latest` says nothing of versions, and takes none.
 */
export function fitsNodeRange(range: string, text: string): boolean {
  if (range === '' || range === '*') return true;
  const version = parseNodeVersion(text);
  const [, operator = '', given = ''] = /^(\^|~|>=|<=|>|<|)v?(.+)$/.exec(range) ?? [];
  if (version === null || !/^[\dx*]/i.test(given)) return range === text;
  const exact = parseNodeVersion(given);
  if (operator === '' && exact !== null) return compareNode(version, exact) === 0;
  const parts = given.replace(/[-+].*$/, '').split('.');
  const known = parts.slice(0, parts.findIndex((part) => !/^\d+$/.test(part)) >>> 0).map(Number);
  const low: NodeVersion = exact ?? {
    numbers: [known[0] ?? 0, known[1] ?? 0, known[2] ?? 0],
    before: '',
  };
  const order = compareNode(version, low);
  switch (operator) {
    case '>=':
      return order >= 0;
    case '>':
      return order > 0 && (exact !== null || !startsWithNumbers(version, known));
    case '<':
      return order < 0;
    case '<=':
      return order <= 0 || (exact === null && startsWithNumbers(version, known));
    case '~':
      return order >= 0 && startsWithNumbers(version, known.slice(0, 2));
    case '^':
      return order >= 0 && startsWithNumbers(version, known.slice(0, findCaretPart(known)));
    default:
      return startsWithNumbers(version, known);
  }
}

const startsWithNumbers = ({ numbers }: NodeVersion, known: readonly number[]): boolean =>
  known.every((number, at) => numbers[at] === number);

/** How many numbers have to stay: up to the first that is not 0. */
function findCaretPart(known: readonly number[]): number {
  const first = known.findIndex((number) => number !== 0);
  return first < 0 ? known.length : first + 1;
}
