/** How much a user may keep, and what is said where that is too much. The rows decide: `store.ts`. */
import { WorkcrateError } from '../../platform/errors.ts';
import { formatBytes, quoteName } from '../../platform/text/text.ts';

export interface ScriptQuota {
  readonly scripts: number;
  /** Of the code of all versions. */
  readonly bytes: number;
}

/** Of one script. More are hardly told apart by a number. */
export const maxVersions = 100;

export function tooManyVersionsError(name: string): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `The script ${quoteName(name)} has ${maxVersions} versions, which is the most. Nothing was saved. Delete one that is not needed (delete_script ${name}@1), or save under another name.`,
    { details: { limit: maxVersions } },
  );
}

export function tooManyScriptsError({ scripts, bytes }: ScriptQuota): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `You may keep ${scripts} scripts and ${formatBytes(bytes)} of code in all their versions, and this would be more. Nothing was saved. Delete what is not needed with delete_script; list_scripts shows what there is.`,
    { details: { limit: scripts, limit_bytes: bytes } },
  );
}
