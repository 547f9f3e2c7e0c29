import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Language } from './sandbox.ts';

/** The way to interpreters of this machine. `node` is that of the server and need not be asked. */
export interface Interpreters {
  readonly python: string;
  readonly bash: string;
  /** Where names are looked up. */
  readonly path: string;
}

const answerMs = 10_000;

const asks = {
  python: ['--version'],
  bash: ['-c', 'echo "GNU bash $BASH_VERSION"'],
} as const;

/** Asks each interpreter for its version, once and when somebody wants to know; null where it does not tell. */
export function runtimesOf(interpreters: Interpreters): (language: Language) => Promise<string | null> {
  const known = new Map<Language, Promise<string | null>>();
  return (language) => {
    const answer = known.get(language) ?? ask(interpreters, language);
    known.set(language, answer);
    return answer;
  };
}

async function ask(interpreters: Interpreters, language: Language): Promise<string | null> {
  if (language === 'node') return `Node.js ${process.version}`;
  try {
    const { stdout } = await promisify(execFile)(interpreters[language], asks[language], {
      timeout: answerMs,
      maxBuffer: 10_000,
      env: { PATH: interpreters.path },
    });
    return versionLine(stdout);
  } catch {
    // Whoever runs it will be told what is wrong with it.
    return null;
  }
}

/** The first line, where it is one of a program and its version: `Python 3.11.2`. */
export function versionLine(text: string): string | null {
  const [line] = text.split('\n');
  return /^[A-Z][A-Za-z. ]{1,40} v?\d[\w.()+-]{0,60}$/.test(line!) ? line! : null;
}
