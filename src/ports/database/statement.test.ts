import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStatement, splitStatements } from './sqlite.ts';

test('placeholders are numbered in order, outside of quotes and comments only', () => {
  const sql = `SELECT '?', '''?', "a?" -- it's ?\n FROM t /* ? ' */ WHERE a = ? AND b IN (?,?) AND c <> '?'';' ;`;
  const expected = `SELECT '?', '''?', "a?" -- it's ?\n FROM t /* ? ' */ WHERE a = $1 AND b IN ($2,$3) AND c <> '?'';' ;`;
  assert.deepEqual(parseStatement(sql), { numbered: expected, placeholders: 3 });
});

test('a second statement is refused, a comment after the first is not', () => {
  assert.throws(() => parseStatement('SELECT 1; SELECT 2'), { code: 'database_failed' });
  assert.throws(() => parseStatement("SELECT 1; 'x'"), { code: 'database_failed' });
  assert.equal(parseStatement("SELECT ';'; -- done\n /* ; */ ").placeholders, 0);
});

test('a file is split into statements whose spelling does not depend on comments and line breaks', () => {
  const text = `-- it's a comment; with a semicolon
    CREATE TABLE a (\n  b TEXT DEFAULT 'x;  --y' -- why\n);\n\n/* two; */ DROP  TABLE "c;  d";`;
  assert.deepEqual(splitStatements(text), [
    `CREATE TABLE a ( b TEXT DEFAULT 'x;  --y' )`,
    `DROP TABLE "c;  d"`,
  ]);
});
