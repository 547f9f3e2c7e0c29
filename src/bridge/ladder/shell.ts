import type { Errand } from './errand.ts';

/** Quotes anything for sh: within single quotes, nothing but their end means anything. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Begins with `./`, so that no name passes for an option or for standard input. */
const below = (relative: string): string => quoted(relative === '' ? '.' : `./${relative}`);

/** `-g`, since curl would take braces and brackets in a name for a list of names. */
const send = (from: string, url: string): string => `curl -sS --fail-with-body -g -T ${from} ${quoted(url)}`;

/** For sh in the project's folder: sends one file. */
export function sendFile({ path }: Errand, url: string): string {
  const folder = path.relative.split('/').slice(0, -1).join('/');
  return `${isItself(folder)}[ ! -L ${below(path.relative)} ] && ${send(below(path.relative), url)}`;
}

/** For sh in the project's folder: sends what stands in a folder, by GNU find or, where that is not, by Python. */
export function sendListing(errand: Errand, url: string): string {
  const { path } = errand;
  const lister = `if find . -maxdepth 0 -printf '' 2>/dev/null; then ${byFind(errand)}; else ${byPython(errand)}; fi`;
  const entered = `[ -d ${below(path.relative)} ] && [ ! -L ${below(path.relative)} ]`;
  return `${isItself(path.relative)}${entered} && { ${lister}; } | ${send('-', url)}`;
}

/** True in sh where no link stands in the path of a folder: what it leads to was not judged. */
function isItself(folder: string): string {
  if (folder === '') return '';
  return `[ "$(cd -P ${below(folder)} && pwd -P)" = "$(pwd -P)"${quoted(`/${folder}`)} ] && `;
}

/** Ends records with NUL, the one character that no name can hold. */
function byFind({ path, recursive, pattern }: Errand): string {
  const depth = recursive ? '' : ' -maxdepth 1';
  const name = plainPattern(pattern) === null ? '' : ` -name ${quoted(pattern!)}`;
  return `find ${below(path.relative)} -mindepth 1${depth}${name} -printf '%y\\t%s\\t%T@\\t%P\\0'`;
}

/** A pattern that find means as we do; any other is applied here alone. */
const plainPattern = (pattern: string | null): string | null =>
  pattern !== null && /^[\w.*-]+$/.test(pattern) && !pattern.includes('**') ? pattern : null;

const script = `import json, os, sys
def walk(folder, prefix):
    for e in os.scandir(folder):
        s = e.stat(follow_symlinks=False)
        kind = "link" if e.is_symlink() else "folder" if e.is_dir() else "file" if e.is_file() else "other"
        print(json.dumps({"path": prefix + e.name, "type": kind, "size": s.st_size, "mtime": s.st_mtime * 1000}))
        if kind == "folder" and sys.argv[2] == "all": walk(e.path, prefix + e.name + "/")
walk(sys.argv[1], "")`;

const byPython = ({ path, recursive }: Errand): string =>
  `python3 -c ${quoted(script)} ${below(path.relative)} ${recursive ? 'all' : 'one'}`;
