import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';

/** What people and accidents put into settings: anything, but often something that is nearly right. */
export const settingText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.integer().map(String),
  fc.maxSafeNat().map(String),
  fc.tuple(fc.nat(), fc.constantFrom('', 'k', 'MB', 'GiB', ' tb', 'x')).map((parts) => parts.join('')),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.array(fc.string({ maxLength: 8 }), { maxLength: 4 }).map((items) => items.join(',')),
  fc.constantFrom('', ' ', 'true', 'off', 'disk', 'memory', 'debug', 'localhost', '::1', '../x', '~', 'null'),
);

/** A config file that can be written anew, removed at the end. */
export function scratchFile() {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-config-'));
  const path = join(folder, 'workcrate.yaml');
  return {
    path,
    write: (text: string): void => writeFileSync(path, text),
    [Symbol.dispose]: (): void => rmSync(folder, { recursive: true }),
  };
}
