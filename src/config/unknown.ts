import { findNearest } from '../edit-distance.ts';
import { environmentName, settings, type Environment } from './settings.ts';

export interface UnknownVariable {
  readonly variable: string;
  /** The setting that was probably meant; null where none is near. */
  readonly nearest: string | null;
}

/** No settings of the server, and yet ours: for the command line, the start scripts and the tests. */
const others = /^WORKCRATE_(?:CONFIG|KEY|NO_INSTALL|WRITE_SCORECARD|(?:TEST|ATTACKS|CONTRACT)_[A-Z0-9_]*)$/;

const prefix = 'WORKCRATE_';
const known = Object.keys(settings).map(environmentName);
const bareNames = known.map((name) => name.slice(prefix.length));

/** Variables that look like settings and are none: a misspelt one would otherwise do nothing in silence. */
export function unknownVariables(environment: Environment): UnknownVariable[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !known.includes(name) && !others.test(name))
    .map((variable) => ({ variable, nearest: nearestTo(variable) }));
}

/** Compared without what all of them begin with, so that it does not make short names look alike. */
function nearestTo(variable: string): string | null {
  const nearest = findNearest(variable.slice(prefix.length), bareNames);
  return nearest === null ? null : prefix + nearest;
}
