import type { Errand } from './errand.ts';
import { endRecord } from './listing-text.ts';

/** Quotes anything for sh: within single quotes, nothing but their end means anything. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Begins with `./`, so that no name passes for an option or for standard input. */
const below = (relative: string): string => quoted(relative === '' ? '.' : `./${relative}`);

/** `-g`, since curl would take braces and brackets in a name for a list of names. */
const send = (from: string, url: string): string => `curl -sS --fail-with-body -g -T ${from} ${quoted(url)}`;

/** Goes before what is done only where a condition holds: a command that does nothing says why. */
const where = (condition: string, unless: string): string =>
  `{ ${condition} || { echo ${quoted(`Nothing was sent: ${unless}`)} >&2; false; }; } && `;

/** For sh in the project's folder: sends one file. A folder would go as an empty file, and a pipe would never end. */
export function sendFile({ path }: Errand, url: string): string {
  const file = below(path.relative);
  const folder = path.relative.split('/').slice(0, -1).join('/');
  const isFile = `${isItself(folder)}[ -f ${file} ] && [ ! -L ${file} ]`;
  return `${where(isFile, noneHere('file'))}${send(file, url)}`;
}

/** For sh in the project's folder: sends what stands in a folder, by GNU find or, where that is not, by Python. */
export function sendListing(errand: Errand, url: string): string {
  const folder = below(errand.path.relative);
  const isFolder = `${isItself(errand.path.relative)}[ -d ${folder} ] && [ ! -L ${folder} ]`;
  const canList = `${hasFind} || command -v python3 >/dev/null`;
  const lister = `{ if ${hasFind}; then ${byFind(errand)}; else ${byPython(errand)}; fi; }`;
  return `${where(isFolder, noneHere('folder'))}${where(canList, noLister)}${lister} | ${send('-', url)}`;
}

const noneHere = (what: string): string =>
  `there is no such ${what} below this folder, or its path contains a link. Run this in the folder of the project.`;
const noLister =
  'this needs GNU find or python3, and neither is installed. Install one of them, or list another way.';

/** Others have no -printf. */
const hasFind = "find . -maxdepth 0 -printf '' 2>/dev/null";

/** True in sh where no link stands in the path of a folder: what it leads to was not judged. */
function isItself(folder: string): string {
  if (folder === '') return '';
  return `[ "$(cd -P ${below(folder)} && pwd -P)" = "$(pwd -P)"${quoted(`/${folder}`)} ] && `;
}

/** Ends records with NUL, the one character that no name can hold. The last is written only if all went well. */
function byFind({ path, recursive, pattern }: Errand): string {
  const depth = recursive ? '' : ' -maxdepth 1';
  const name = plainPattern(pattern) === null ? '' : ` -name ${quoted(pattern!)}`;
  return `find ${below(path.relative)} -mindepth 1${depth}${name} -printf '%y\\t%s\\t%T@\\t%P\\0' && printf '%s\\0' ${quoted(endRecord)}`;
}

/** A pattern that find means as we do; any other is applied here alone. */
const plainPattern = (pattern: string | null): string | null =>
  pattern !== null && /^[\w.*-]+$/.test(pattern) && !pattern.includes('**') ? pattern : null;

/** As find does, it goes on past what it may not see, and then does not say that it is done. */
const script = `import json, os, sys
whole = True
def walk(folder, prefix):
    global whole
    try:
        for e in os.scandir(folder):
            s = e.stat(follow_symlinks=False)
            kind = "link" if e.is_symlink() else "folder" if e.is_dir() else "file" if e.is_file() else "other"
            print(json.dumps({"path": prefix + e.name, "type": kind, "size": s.st_size, "mtime": s.st_mtime * 1000}))
            if kind == "folder" and sys.argv[2] == "all": walk(e.path, prefix + e.name + "/")
    except OSError as error:
        whole = False
        print(error, file=sys.stderr)
walk(sys.argv[1], "")
if whole: print(json.dumps({"end": True}))`;

const byPython = ({ path, recursive }: Errand): string =>
  `python3 -c ${quoted(script)} ${below(path.relative)} ${recursive ? 'all' : 'one'}`;
