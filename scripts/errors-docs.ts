/**
 * Makes docs/reference/errors.md from src/platform/error-codes.json and the statuses in src/platform/http/answer.ts, so that
 * the page cannot say anything else. What no code says is in errors-template.md.
 *
 *   node scripts/errors-docs.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorCode } from '../src/platform/errors.ts';
import { errorStatus } from '../src/platform/http/answer.ts';
import { formatTable } from './markdown-table.ts';

const root = join(import.meta.dirname, '..');
const readText = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Explanation {
  readonly meaning: string;
  readonly remedy: string;
}

const explanations = JSON.parse(readText('src/platform/error-codes.json')) as Record<ErrorCode, Explanation>;

export function errorsPage(): string {
  const rows = Object.entries(explanations).map(([code, { meaning, remedy }]) => [
    `\`${code}\``,
    String(errorStatus[code as ErrorCode]),
    linkPages(meaning),
    linkPages(remedy),
  ]);
  const table = formatTable(['code', 'HTTP', 'meaning', 'what to do'], rows);
  return readText('scripts/errors-template.md').replace('{{codes}}', table);
}

/** `docs/guide/users.md` in a sentence becomes a link that works from docs/reference/. */
const linkPages = (text: string): string =>
  text.replaceAll(/docs\/((?:guide|reference)\/([\w-]+\.md)(?:#[\w-]+)?)/g, '[$2](../$1)');

if (import.meta.main) writeFileSync(join(root, 'docs/reference/errors.md'), errorsPage());
