/**
 * Finds environment variables that look like settings but are none, such as misspelt ones. It only reports: the caller
 * warns.
 */
import { findNearest } from '../text/edit-distance.ts';
import { toEnvironmentName, type SettingList, type SettingsEnvironment } from './setting.ts';

export interface UnknownVariable {
  readonly variable: string;
  /** The setting that was probably meant; null where none is near. */
  readonly nearest: string | null;
}

/** No settings of the server, and yet ours: for the command line, the start scripts and the tests. */
const otherKnownVariables =
  /^WORKCRATE_(?:CONFIG|KEY|NO_INSTALL|WRITE_SCORECARD|(?:TEST|ATTACKS|CONTRACT)_[A-Z0-9_]*)$/;

const variablePrefix = 'WORKCRATE_';

/** Variables that look like settings and are none: a misspelt one would otherwise do nothing in silence. */
export function findUnknownVariables(
  settings: SettingList,
  environment: SettingsEnvironment,
): UnknownVariable[] {
  const known = Object.keys(settings).map(toEnvironmentName);
  return Object.keys(environment)
    .filter(
      (name) => name.startsWith(variablePrefix) && !known.includes(name) && !otherKnownVariables.test(name),
    )
    .map((variable) => ({ variable, nearest: findNearestVariable(variable, known) }));
}

/** Compared without what all of them begin with, so that it does not make short names look alike. */
function findNearestVariable(variable: string, known: readonly string[]): string | null {
  const bare = known.map((name) => name.slice(variablePrefix.length));
  const nearest = findNearest(variable.slice(variablePrefix.length), bare);
  return nearest === null ? null : variablePrefix + nearest;
}
