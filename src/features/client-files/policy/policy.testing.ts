import { isWorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import type { PolicyKind } from './policy.ts';

type Check = (error: unknown) => boolean;

/** Whether an error is a refusal of that kind, a violation that says so, and knows the path as it was given. */
export const violates = (kind: PolicyKind, path: string): Check => isRefused('path_refused', kind, path);

/** Whether it is a mistake of that kind: the path stays in the project. */
export const isMistaken = (kind: PolicyKind, path: string): Check =>
  isRefused('path_not_allowed', kind, path);

/** Either of both. */
export const refuses = (kind: PolicyKind, path: string): Check => {
  const checks = [violates(kind, path), isMistaken(kind, path)];
  return (error) => checks.some((check) => check(error));
};

function isRefused(code: ErrorCode, kind: PolicyKind, path: string): Check {
  return (error) =>
    isWorkcrateError(error, code) &&
    error.message.startsWith('SecurityError: ') === (code === 'path_refused') &&
    error.details['kind'] === kind &&
    error.details['path'] === path.slice(0, 4096).toWellFormed();
}
