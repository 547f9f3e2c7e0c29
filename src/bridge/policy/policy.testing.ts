import { isWorkcrateError } from '../../errors.ts';
import type { PolicyKind } from './policy.ts';

/** Whether an error is a refusal of that kind which says so, and knows the path as it was given. */
export function violates(kind: PolicyKind, path: string): (error: unknown) => boolean {
  return (error) =>
    isWorkcrateError(error, 'path_refused') &&
    error.message.startsWith('SecurityError: ') &&
    error.details['kind'] === kind &&
    error.details['path'] === path.slice(0, 4096).toWellFormed();
}
