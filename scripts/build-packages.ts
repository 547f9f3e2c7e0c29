/**
 * The last part of `npm run build`: makes `dist/` of each package in packages/, or of those that are named. Their code has
 * only types that can be erased, so nothing else has to be done to it.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { isTestFile } from './imports.ts';

const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2);
const folders = named.length > 0 ? named : globSync('packages/*', { cwd: root });

for (const folder of folders.map((one) => join(root, one))) {
  const target = join(folder, 'dist');
  rmSync(target, { recursive: true, force: true });
  const files = globSync('**/*.ts', { cwd: folder, exclude: ['dist/**', 'node_modules/**'] });
  for (const file of files.filter((one) => !isTestFile(one))) {
    const code = stripTypeScriptTypes(readFileSync(join(folder, file), 'utf8'));
    const built = join(target, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(built), { recursive: true });
    writeFileSync(built, code.replaceAll(/(\bfrom |\bimport\()'(\.[^']*)\.ts'/g, "$1'$2.js'"));
  }
}
