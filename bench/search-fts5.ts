/** SQLite's own full-text search over the same texts, as one would plainly use it. */
import { DatabaseSync } from 'node:sqlite';
import type { ReadCrate } from '../src/features/crates/crate.ts';
import { listFieldTexts } from '../src/features/crates/index/texts.ts';
import { isStopWord } from '../src/features/crates/text/stop-words.ts';
import { stemWord } from '../src/features/crates/text/words.ts';

export interface Fts5 extends Disposable {
  add(crates: readonly ReadCrate[]): void;
  /** The ten best for any of the words. */
  search(words: readonly string[]): number;
  /** The same without stop words. */
  searchTelling(words: readonly string[]): number;
}

export function openFts5(file: string): Fts5 {
  const connection = new DatabaseSync(file);
  connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  connection.exec(`CREATE VIRTUAL TABLE texts USING fts5(
    title, description, author, keyword, entity, file, identifier, tokenize = 'porter unicode61')`);
  connection.exec('CREATE TABLE shown (id INTEGER PRIMARY KEY, title TEXT, description TEXT, year INTEGER)');
  const insert = connection.prepare('INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)');
  const insertShown = connection.prepare('INSERT INTO shown (title, description, year) VALUES (?, ?, ?)');
  const select =
    connection.prepare(`SELECT shown.title, shown.description, bm25(texts, 3, 1, 2, 2, 0.7, 0.5, 2) AS score
    FROM texts JOIN shown ON shown.id = texts.rowid WHERE texts MATCH ? ORDER BY score LIMIT 10`);
  const search = (words: readonly string[]): number =>
    select.all(words.map((word) => `"${word}"`).join(' OR ')).length;
  return {
    add(crates) {
      connection.exec('BEGIN');
      for (const crate of crates) {
        insert.run(...listFieldTexts(crate).map((texts) => texts.join('\n')));
        insertShown.run(crate.metadata.title, crate.metadata.description, crate.metadata.year);
      }
      connection.exec('COMMIT');
    },
    search,
    searchTelling(words) {
      const telling = words.filter((word) => !isStopWord(stemWord(word)));
      return search(telling.length > 0 ? telling : words);
    },
    [Symbol.dispose]: () => connection.close(),
  };
}
