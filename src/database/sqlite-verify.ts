import type { DatabaseSync } from 'node:sqlite';
import type { DatabaseCheck } from './database.ts';

const mostProblems = 100;

/** Every page, every index against its table, and every foreign key. It takes as long as reading the file. */
export function verifySqlite(connection: DatabaseSync): DatabaseCheck {
  const by = 'integrity_check and foreign_key_check of SQLite';
  try {
    const found = connection.prepare(`PRAGMA integrity_check(${mostProblems})`).all();
    const damaged = found.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok');
    const keys = connection.prepare('PRAGMA foreign_key_check').all();
    const broken = keys.map(
      (row) => `a row of ${String(row['table'])} refers to a missing row of ${String(row['parent'])}`,
    );
    return { by, problems: [...damaged, ...broken].slice(0, mostProblems) };
  } catch (error) {
    return { by, problems: [`it cannot be read to the end: ${(error as Error).message}`] };
  }
}
