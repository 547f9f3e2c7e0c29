import { WorkcrateError } from '../errors.ts';

export interface Statement {
  /** The SQL with `$1`, `$2`, … for its placeholders. */
  readonly numbered: string;
  readonly placeholders: number;
}

const QUOTED = `'[^']*'|"[^"]*"`;
const COMMENT = String.raw`--[^\n]*|/\*[\s\S]*?\*/`;
const TOKEN = new RegExp(`${QUOTED}|${COMMENT}|[?;]`, 'g');

/** Finds the placeholders of one statement. Text in quotes and comments is left as it is. */
export function parseStatement(sql: string): Statement {
  let placeholders = 0;
  let end = sql.length;
  const numbered = sql.replace(TOKEN, (token, offset: number) => {
    if (token === ';') end = Math.min(end, offset);
    return token === '?' ? `$${++placeholders}` : token;
  });
  // SQLite would run the first statement and silently leave the rest.
  if (withoutComments(sql.slice(end + 1)) !== '') throw refused('a query is one statement', sql);
  return { numbered, placeholders };
}

/** SQLite would silently take a missing value as NULL. */
export function checkValues(sql: string, placeholders: number, values: readonly unknown[]): void {
  if (values.length === placeholders) return;
  throw refused(`${placeholders} placeholders were given ${values.length} values`, sql);
}

/** The statements of a file of SQL, without comments, each in one spelling whatever its line breaks. */
export function splitStatements(text: string): string[] {
  const statements = [''];
  for (const [part] of withoutComments(text).matchAll(new RegExp(`${QUOTED}|;|[^'";]+`, 'g'))) {
    if (part === ';') statements.push('');
    else statements[statements.length - 1] += /^['"]/.test(part) ? part : part.replaceAll(/\s+/g, ' ');
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '');
}

function withoutComments(sql: string): string {
  const pattern = new RegExp(`(${QUOTED})|${COMMENT}`, 'g');
  return sql.replace(pattern, (_, quoted: string | undefined) => quoted ?? ' ').trim();
}

function refused(reason: string, sql: string): WorkcrateError {
  return new WorkcrateError('database_failed', `The SQL was refused: ${reason}. ${sql.slice(0, 200)}`);
}
