/**
 * Scripts that run in browsers: files `*.browser.ts` beside the code that serves them. Each comes as one script, with
 * all that it imports inside. In the checkout types are taken out when a page first needs the script, in `dist/` they
 * are out already. It knows few forms of `import` and `export`, and refuses others.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname } from 'node:path';

export interface BrowserScript {
  readonly text: string;
  /** How a policy allows this very script. */
  readonly source: string;
}

/** The script in `name.browser.ts` beside the module that asks. It is read when it is first needed. */
export function createBrowserScript(
  { filename, url }: Pick<ImportMeta, 'filename' | 'url'>,
  name: string,
): BrowserScript {
  let made: BrowserScript | null = null;
  const make = (): BrowserScript => {
    const text = bundleModules(new URL(`./${name}.browser${extname(filename)}`, url));
    return (made = { text, source: toPolicySource(text) });
  };
  return {
    get text() {
      return (made ?? make()).text;
    },
    get source() {
      return (made ?? make()).source;
    },
  };
}

export const toPolicySource = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

/** One script of a module and of all that it imports, each a function of its own, so that names do not meet. */
function bundleModules(entry: URL): string {
  const names = new Map<string, string>();
  const parts: string[] = [];
  function add(file: URL): string {
    const known = names.get(file.href);
    if (known !== undefined) return known;
    const name = `module${names.size}`;
    names.set(file.href, name);
    const own = readModule(file).replace(imports, (_all, list: string, path: string) => {
      return `const {${list.replaceAll(/\bas\b/g, ':')}} = ${add(new URL(path, file))};`;
    });
    parts.push(wrapModule(name, own, file));
    return name;
  }
  add(entry);
  return `'use strict';\n${parts.join('')}`;
}

const imports = /^import \{([^}]*)\} from '(\.[^']+)';$/gm;
const exported = /^export (?=(?:async )?(?:const|let|class|function\*?) ([\w$]+))/gm;

function wrapModule(name: string, code: string, file: URL): string {
  const list = [...code.matchAll(exported)].map(([, one]) => one);
  const body = code.replace(exported, '').replace(/^export \{\};$/m, '');
  if (/^(?:import|export)\b|<\/script|<!--/im.test(body))
    throw new Error(
      `${file.pathname} has a form of import, export or text that no script of a page may have.`,
    );
  return `const ${name} = (() => {\n${body}return { ${list.join(', ')} };\n})();\n`;
}

function readModule(file: URL): string {
  const source = readFileSync(file, 'utf8');
  return compact(extname(file.pathname) === '.ts' ? stripTypes(source) : source);
}

/** Without types, which leave gaps. Nothing else may look like one. Node warns of its function. Nobody can do anything about that. */
function stripTypes(source: string): string {
  const gap = /\S {2}/;
  const wide = source.split('\n').find((line) => gap.test(line) && !/^\s*(?:\/\/|\/?\*)/.test(line));
  if (wide !== undefined) throw new Error(`Two spaces would become one in: ${wide}`);
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source).replaceAll(/(?<=\S) {2,}/g, ' ');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Without comments, indentation and empty lines. So a text of several lines may not be written in backticks. */
function compact(code: string): string {
  const lines = code
    .replaceAll(/^\s*\/\*\*?[^]*?\*\/$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'));
  const open = lines.find((line) => line.split('`').length % 2 === 0);
  if (open !== undefined) throw new Error(`A text of several lines begins or ends in: ${open}`);
  return `${lines.join('\n')}\n`;
}
