import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { egressAttacks } from '../../../src/features/network/attacks.testing.ts';
import { claims, type Claim } from '../../../src/ports/sandbox/sandbox.ts';
import { themes } from './all.testing.ts';
import type { Attack } from './attack.testing.ts';
import type { Results } from './launch.testing.ts';
import { mostInContainers, type Verdict } from './perform.testing.ts';
import type { ServerVerdict } from './server.testing.ts';

/** A backend as some user, such as `bubblewrap, root`. */
export interface Column {
  readonly title: string;
  readonly results: Results;
}

/** `through` is a fault; `open` is a wall that the backend does not claim to have. */
export type Cell = 'held' | 'through' | 'open' | 'not run' | 'failed';

export function cellOf(
  { wall, openOn }: Pick<Attack, 'wall' | 'openOn'>,
  { holds, kind }: Results,
  verdict: Verdict | undefined,
): Cell {
  if (verdict?.state !== 'through') return verdict?.state ?? 'failed';
  return isClaimed(wall, holds) && openOn?.[kind] === undefined ? 'through' : 'open';
}

function isClaimed(wall: Attack['wall'], holds: Results['holds']): boolean {
  return wall === 'artifacts' || wall === 'records' || holds[wall as Claim] === true;
}

export const page = fileURLToPath(new URL('../../../docs/reference/scorecard.md', import.meta.url));

/** Where test files keep what they saw, each in a file of its own, so that the page can be written from all of it. */
export const scoresVariable = 'WORKCRATE_WRITE_SCORECARD';

export interface Scores {
  readonly column?: {
    readonly title: string;
    readonly results: Omit<Results, 'verdicts'> & {
      readonly verdicts: readonly (readonly [string, Verdict])[];
    };
  };
  readonly server?: readonly ServerVerdict[];
}

if (import.meta.main) writeFileSync(page, writeScorecard(process.argv[2]!));

function writeScorecard(folder: string): string {
  const scores = readdirSync(folder)
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Scores);
  const columns = ['bubblewrap, root', 'bubblewrap, ordinary user', 'docker', 'subprocess'].flatMap(
    (title) => {
      const kept = scores.find(({ column }) => column?.title === title)?.column;
      return kept === undefined
        ? []
        : [{ title, results: { ...kept.results, verdicts: new Map(kept.results.verdicts) } }];
    },
  );
  return renderScorecard(
    columns,
    scores.flatMap(({ server = [] }) => server),
  );
}

/** The page that docs/ shows. */
function renderScorecard(columns: readonly Column[], server: readonly ServerVerdict[]): string {
  return `${[
    '# The scorecard of the attack suite',
    'Every line is an attack that `test/properties/attacks/` plays on a real sandbox, with what must not happen and the wall that stops it. Attacks are judged by what they got, and from outside: by secrets that nobody may read, sockets that nobody may reach, processes that nobody may stop and files that nobody may change. The page is written by `WORKCRATE_WRITE_SCORECARD=/tmp/scores node scripts/test.ts properties/attacks` and then `node test/properties/attacks/scorecard.testing.ts /tmp/scores`, and the suite checks that it is true.',
    '**held**: the attack got nothing. **open**: it got through a wall that this backend does not claim to have; why is said [below](#what-is-not-claimed). **not run**: it would harm the machine there, or cannot be tried. **through** would be a fault. The column of `subprocess`, which has next to no walls, shows that the attacks work and that the suite sees it.',
    `One run in which an attack was held proves less than one in which it got through: those that race the kernel are repeated, in docker at most ${mostInContainers} times. The attacks through the whole server are played on bubblewrap alone, as whoever runs the tests.`,
    ...Object.entries(themes).flatMap(([theme, attacks]) => [
      `## ${theme}`,
      table(
        ['attack', 'must not happen', 'wall', ...columns.map(({ title }) => title)],
        attacks.map((attack) => [
          attack.name,
          attack.mustNotHappen,
          `\`${attack.wall}\``,
          ...columns.map(({ results }) => cellOf(attack, results, results.verdicts.get(attack.name))),
        ]),
      ),
    ]),
    '## Artifacts, records and doors, through the whole server',
    table(
      ['attack', 'must not happen', 'wall', 'bubblewrap'],
      server.map(({ name, mustNotHappen, wall, how }) => [
        name,
        mustNotHappen,
        `\`${wall}\``,
        how === null ? 'held' : 'through',
      ]),
    ),
    ...renderProxyAttacks(),
    '## What is not claimed',
    ...columns.map(notHeld),
    exceptions(),
    '## What is not run',
    ...columns.map(notRun),
  ].join('\n\n')}\n`;
}

/** Their own tests fail where one gets through. */
const renderProxyAttacks = (): string[] => [
  '## The proxy to allowed hosts',
  'Played on the proxy itself (`src/features/network/attacks.test.ts`) and, but for those that need a name server that lies, by code in bubblewrap and in docker (`test/behaviour/network/attacks.test.ts`).',
  table(
    ['attack', 'must not happen', 'stopped by', 'proxy'],
    egressAttacks.map(({ name, mustNotHappen, stoppedBy }) => [name, mustNotHappen, stoppedBy, 'held']),
  ),
];

function notHeld({ title, results: { holds } }: Column): string {
  const open = claims.filter((claim) => holds[claim] !== true);
  if (open.length === 0) return `${title}: it claims every wall.`;
  return `${title}:\n\n${open.map((claim) => `- \`${claim}\`: ${withoutPaths(String(holds[claim]))}`).join('\n')}`;
}

/** Single attacks that a backend does not hold, behind a wall that it otherwise claims. */
function exceptions(): string {
  const lines = Object.values(themes)
    .flat()
    .flatMap(({ name, openOn = {} }) =>
      Object.entries(openOn).map(([kind, why]) => `- ${kind}, \u201c${name}\u201d: ${why}`),
    );
  return `Besides:\n\n${lines.join('\n')}`;
}

/** Paths of the machine on which the page was written say nothing to others. */
function withoutPaths(text: string): string {
  return text.replaceAll(/\/(?:sys|tmp|home)\/[^\s,;)]*/g, '…');
}

function notRun({ title, results }: Column): string {
  const reasons = new Map<string, number>();
  for (const verdict of results.verdicts.values())
    if (verdict.state === 'not run') reasons.set(verdict.why, (reasons.get(verdict.why) ?? 0) + 1);
  if (reasons.size === 0) return `${title}: everything is run.`;
  return `${title}:\n\n${[...reasons].map(([why, count]) => `- ${count}: ${why}`).join('\n')}`;
}

/** Padded as the formatter would do it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** The cells of a page by attack and column. */
export function cellsOf(page: string): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  let head: string[] = [];
  for (const line of page.split('\n').filter((line) => line.startsWith('|'))) {
    const cells = line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.replace(/^\|?\s*|\s*\|?$/g, ''));
    if (cells[0] === 'attack') head = cells;
    else if (!/^-+$/.test(cells[0] ?? ''))
      found.set(cells[0]!, new Map(head.map((title, at) => [title, cells[at]!])));
  }
  return found;
}

/** For the terminal: a line for each attack. */
export function summarizeColumn({ title, results }: Column): string {
  const marks: Record<Cell, string> = {
    held: 'held',
    through: 'THROUGH',
    open: 'open',
    'not run': '-',
    failed: 'FAILED',
  };
  const lines = Object.values(themes)
    .flat()
    .map((attack) => {
      const cell = cellOf(attack, results, results.verdicts.get(attack.name));
      return `${marks[cell].padEnd(8)} ${results.ms.get(attack.name)} ms ${attack.name}`;
    });
  return [title, ...lines].join('\n');
}
