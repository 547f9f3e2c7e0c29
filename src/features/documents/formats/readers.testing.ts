import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Programs of others that open what we write. Each is ended with all its children when it takes too long. */
const MOST_SECONDS = '60';

interface Ran {
  readonly status: number | null;
  readonly output: string;
}

function run(program: string, args: readonly string[]): Ran {
  const bounded = ['-s', 'KILL', MOST_SECONDS, program, ...args];
  const { status, stdout, stderr } = spawnSync('timeout', bounded, { encoding: 'utf8', maxBuffer: 2 ** 24 });
  return { status, output: `${stdout}${stderr}` };
}

/** The path of a program, or null. */
function located(program: string): string | null {
  const { status, output } = run('sh', ['-c', `command -v ${program}`]);
  return status === 0 ? output.trim() : null;
}

/** The reason to skip a test, or false where all these are installed. */
export function missing(...programs: readonly string[]): string | false {
  const absent = ['timeout', ...programs].filter((program) => located(program) === null);
  return absent.length === 0 ? false : `${absent.join(' and ')} is not installed`;
}

function inFolder<T>(use: (file: (name: string) => string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-readers-'));
  try {
    return use((name) => join(folder, name));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text of documents, by their extension, as LibreOffice shows it. */
export function libreOfficeTexts(documents: Readonly<Record<string, Uint8Array>>): Record<string, string> {
  return inFolder((file) => {
    const extensions = Object.keys(documents);
    for (const each of extensions) writeFileSync(file(`${each}.${each}`), documents[each]!);
    const profile = `-env:UserInstallation=${pathToFileURL(file('profile')).href}`;
    const options = [profile, '--headless', '--norestore', '--convert-to', 'txt:Text', '--outdir', file('')];
    const { output } = run('soffice', [...options, ...extensions.map((each) => file(`${each}.${each}`))]);
    return Object.fromEntries(extensions.map((each) => [each, textIn(file(`${each}.txt`), output)]));
  });
}

function textIn(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`LibreOffice wrote no text: ${otherwise}`, { cause });
  }
}

/** What the checker says of a book. Debian has it as an archive of Java, which not every kernel can start. */
export function epubcheck(book: Uint8Array): Ran {
  return inFolder((file) => {
    writeFileSync(file('book.epub'), book);
    const fast = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
    return run('java', [...fast, '-jar', located('epubcheck') ?? '', file('book.epub')]);
  });
}
