import { WorkcrateError } from '../errors.ts';

export function damaged(what: string): WorkcrateError {
  return new WorkcrateError('zip_damaged', `The zip is damaged: ${what}. Put a whole copy in its place.`);
}

export function truncated(what: string): WorkcrateError {
  return new WorkcrateError('zip_truncated', `The zip is cut short: ${what}. Copy it to its place again.`);
}

export function notAZip(what: string): WorkcrateError {
  return new WorkcrateError('not_a_zip', `This is not a zip: ${what}. Check what was put there.`);
}

export function split(): WorkcrateError {
  return new WorkcrateError(
    'unsupported',
    'The zip is one part of several. Join them first: zip -s 0 LAST_PART --out WHOLE.',
  );
}

/** A name from an archive as it may stand in a message: on one line, and short. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
