/**
 * Facts of the contract that no running program shows in full: log events, labels of metrics, error codes, migrations.
 * They are found in the text of src/ by the shape of the code, never by the name of a file, so that files may move.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export type Facts = [fact: string, value: unknown][];

/** The program's own text, without tests and without comments. */
function readProgram(): string {
  const paths = globSync('{src,packages}/**/*.ts', { cwd: root }).filter(
    (path) => !/\.(?:test|testing|contract)\.ts$/.test(path),
  );
  const texts = paths.toSorted().map((path) => readFileSync(join(root, path), 'utf8'));
  return texts.join('\n').replaceAll(/^\s*\/\*\*?[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

/** All that can be told from the text alone. */
export function readSourceFacts(): Facts {
  const text = readProgram();
  return [
    ...logEvents(text),
    ...metricLabels(text),
    ...errorStatuses(text),
    ...errorDetails(text),
    ...auditNames(text),
    ...otherNames(text),
    ...migrationFiles(),
  ];
}

const eventName = /'(?<event>[a-z_]+(?:\.[a-z_]+)*)'/.source;
/** `log.warn('x.y'`, `log[isBad ? 'error' : 'info']('x.y'`, and a function that is given the log and the event. */
const logCall = new RegExp(
  `[lL]og(?:ger)?(?:\\??\\.(?<level>debug|info|warn|error)\\(|\\[(?<levels>[^\\]]*)\\]\\(|, )\\s*${eventName}`,
  'g',
);

function logEvents(text: string): Facts {
  const found = [...text.matchAll(logCall)].map((match): [string, unknown] => {
    const { level, levels = '', event } = match.groups!;
    const chosen = [...levels.matchAll(/'(debug|info|warn|error)'/g)].map(([, one]) => one);
    const fields = readKeys(text, match.index + match[0].length);
    return [`log event ${event} ${level ?? (chosen.join(' or ') || 'any level')}`, fields];
  });
  if (found.length < 50) throw new Error(`Only ${found.length} log events were found: has the call changed?`);
  return found;
}

/** The object literal that is the next argument, as its keys; `…` where there is more than the text shows. */
function readKeys(text: string, from: number): string[] {
  const start = /^,\s*\{/.exec(text.slice(from, from + 100));
  if (start === null) return /^,\s*[a-z]/.test(text.slice(from, from + 100)) ? ['…'] : [];
  return keysOf(readBraces(text, from + start[0].length - 1));
}

/** What is between a brace and the one that closes it. */
function readBraces(text: string, at: number): string {
  const end = findClosing(text, at);
  return text.slice(at + 1, end);
}

function findClosing(text: string, at: number): number {
  let depth = 0;
  for (let place = at; place < text.length; place++) {
    const character = text[place]!;
    if (`'"\``.includes(character)) place = findQuote(text, place);
    else if ('{[('.includes(character)) depth++;
    else if ('}])'.includes(character) && --depth === 0) return place;
  }
  throw new Error(`Nothing closes ${text.slice(at, at + 80)}`);
}

function findQuote(text: string, at: number): number {
  const quote = text[at]!;
  for (let place = at + 1; place < text.length; place++) {
    if (text[place] === '\\') place++;
    else if (text[place] === quote) return place;
  }
  throw new Error(`Nothing closes ${text.slice(at, at + 80)}`);
}

/** Keys of an object literal. What is spread into it may be called anything: `…`, and the keys that it spells out. */
function keysOf(body: string): string[] {
  const keys = splitParts(body).flatMap((part) => {
    if (!part.startsWith('...')) return [/^'?([\w.-]+)'?/.exec(part)?.[1] ?? '…'];
    const inner = [...part.matchAll(/\{/g)].flatMap(({ index }) => keysOf(readBraces(part, index)));
    return ['…', ...inner];
  });
  return [...new Set(keys)].toSorted();
}

function splitParts(body: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let place = 0; place < body.length; place++) {
    if (`'"\``.includes(body[place]!)) place = findQuote(body, place);
    else if ('{[('.includes(body[place]!)) place = findClosing(body, place);
    else if (body[place] === ',') {
      parts.push(body.slice(start, place));
      start = place + 1;
    }
  }
  return [...parts, body.slice(start)].map((part) => part.trim()).filter((part) => part !== '');
}

/** Labels show at /metrics only once something was counted. Names that are put together are seen there. */
function metricLabels(text: string): Facts {
  const made = [...text.matchAll(/new (?:Counter|Gauge|Histogram|Summary)(?:<[^>]*>)?\(\{/g)];
  return made.flatMap((match): Facts => {
    const body = readBraces(text, match.index + match[0].length - 1);
    const name = /\bname: '([^']+)'/.exec(body)?.[1];
    const labels = /\blabelNames: \[([^\]]*)\]/.exec(body)?.[1] ?? '';
    return name === undefined ? [] : [[`metric ${name} labels`, quotedIn(labels)]];
  });
}

const quotedIn = (text: string): string[] => [...text.matchAll(/'([^']*)'/g)].map(([, one]) => one!);

/** The one table of codes and statuses: its rows are the only ones of that form. */
function errorStatuses(text: string): Facts {
  const rows = [...text.matchAll(/^ {2}([a-z_]+): ([45]\d\d),$/gm)];
  if (rows.length < 50) throw new Error(`Only ${rows.length} error codes were found: has the table changed?`);
  return rows.map(([, code, status]): [string, unknown] => [`error ${code} status`, Number(status)]);
}

/** Facts that errors tell programs, such as the offset that the server has. */
function errorDetails(text: string): Facts {
  const keys = [...text.matchAll(/\bdetails: \{/g)].flatMap((match) =>
    keysOf(readBraces(text, match.index + match[0].length - 1)),
  );
  return keys.map((key): [string, unknown] => [`error or audit detail ${key}`, true]);
}

function auditNames(text: string): Facts {
  const operations = [...text.matchAll(/\boperation: '([^']+)'/g)].map(([, name]) => name!);
  const own = [...text.matchAll(/'(audit\.[a-z_]+)'/g)].map(([, name]) => name!);
  return [...operations, ...own].map((name): [string, unknown] => [`audit or log name ${name}`, true]);
}

const otherForms: Readonly<Record<string, RegExp>> = {
  'environment variable': /[.'](WORKCRATE_[A-Z_]+)\b/g,
  header: /'(Workcrate-[\w-]+)'/g,
  'key in _meta': /(?<!from )'(workcrate\/[\w-]+)'/g,
  'attribute of a span': /'((?:workcrate|http|db|mcp|error)\.[a-z_.]+)'(?=: |, (?!\{))/g,
};

function otherNames(text: string): Facts {
  return Object.entries(otherForms).flatMap(([kind, form]) =>
    [...text.matchAll(form)].map(([, name]): [string, unknown] => [`${kind} ${name}`, true]),
  );
}

/** Released migrations never change, not even their comments. */
function migrationFiles(): Facts {
  const paths = globSync('src/**/*.sql', { cwd: root });
  return paths.map((path): [string, unknown] => [
    `migration ${basename(dirname(path))}/${basename(path)} sha256`,
    createHash('sha256')
      .update(readFileSync(join(root, path)))
      .digest('hex'),
  ]);
}
