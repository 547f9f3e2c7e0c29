import { environmentName, settings, type Environment } from './settings.ts';

export interface UnknownVariable {
  readonly variable: string;
  /** The setting that was probably meant; null where none is near. */
  readonly nearest: string | null;
}

/** No settings of the server, and yet ours: for the command line, the start scripts and the tests. */
const others = /^WORKCRATE_(?:CONFIG|KEY|NO_INSTALL|WRITE_SCORECARD|(?:TEST|ATTACKS|CONTRACT)_[A-Z0-9_]*)$/;

const known = Object.keys(settings).map(environmentName);

/** Variables that look like settings and are none: a misspelt one would otherwise do nothing in silence. */
export function unknownVariables(environment: Environment): UnknownVariable[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('WORKCRATE_') && !known.includes(name) && !others.test(name))
    .map((variable) => ({ variable, nearest: nearestTo(variable) }));
}

/** A third of the letters wrong is no slip any more. */
function nearestTo(variable: string): string | null {
  const judged = known.map((name) => ({ name, steps: stepsBetween(variable, name) }));
  const best = judged.reduce((least, one) => (one.steps < least.steps ? one : least));
  return best.steps <= Math.max(2, (best.name.length - 'WORKCRATE_'.length) / 3) ? best.name : null;
}

/** How many letters must be put in, left out, changed or swapped with the next to get from one to the other. */
function stepsBetween(from: string, to: string): number {
  let [before, last] = [[] as number[], Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= Math.min(from.length, 100); row++) {
    const now = [row];
    for (let at = 1; at <= to.length; at++) {
      const changed = from[row - 1] === to[at - 1] ? 0 : 1;
      const swapped = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const steps = Math.min(last[at]! + 1, now[at - 1]! + 1, last[at - 1]! + changed);
      now.push(swapped ? Math.min(steps, before[at - 2]! + 1) : steps);
    }
    [before, last] = [last, now];
  }
  return last[to.length]!;
}
