/**
 * The second half of `npm run build`: copies what is no TypeScript, such as SQL, styles and the programs inside of the
 * sandbox, to the same place in `dist/`. So code finds it beside itself, in the checkout and in the published package.
 */
import { cpSync, globSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const isLeftOut = (file: string): boolean =>
  file.endsWith('.ts') || file.includes('__pycache__') || /(?:^|\/)README\.md$/.test(file);

const assets = globSync('**/*', { cwd: join(root, 'src'), withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((file) => !isLeftOut(file));
for (const file of assets) cpSync(file, file.replace(join(root, 'src'), join(root, 'dist')));
