import { findNearest } from '../text/edit-distance.ts';
import { WorkcrateError } from '../errors.ts';
import { programName } from '../program.ts';

/** A mistake on the command line. It names the help to read: that of the command where it is known. */
export function usageError(problem: string, command = ''): WorkcrateError {
  const help = [programName, command, '--help'].filter((word) => word !== '').join(' ');
  return new WorkcrateError('config_invalid', `${problem}${/[.?]$/.test(problem) ? '' : '.'} See ${help}.`);
}

/** The question after an unknown word, or nothing where no known one is close. */
export function didYouMean(wrong: string, known: Iterable<string>, before = ''): string {
  const nearest = findNearest(wrong, known);
  return nearest === null ? '' : ` Did you mean ${before}${nearest}?`;
}
