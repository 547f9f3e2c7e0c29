import { isWorkcrateError } from '../../errors.ts';
import type { Pandoc } from '../pandoc/pandoc.ts';
import { invalid, lineAt } from './reference.ts';

/** CommonMark takes no longer for brackets in brackets, as Pandoc's own Markdown does. */
const from = 'commonmark+yaml_metadata_block+bracketed_spans+superscript+subscript+tex_math_dollars-raw_html';

/**
 * CSL YAML, as in the front matter of Pandoc: `references:` with a list, or the list alone. Pandoc reads it, in its own
 * process: half a megabyte kept a reader in this one busy for two seconds.
 */
export async function convertYaml(pandoc: Pandoc, text: string, signal: AbortSignal): Promise<Uint8Array> {
  demandFewAliases(text);
  const { before, block } = asFrontMatter(text);
  try {
    const input = literalAddresses(block);
    return (await pandoc.convert({ options: { from, to: 'csljson' }, input }, signal)).output;
  } catch (error) {
    if (!isWorkcrateError(error, 'document_invalid')) throw error;
    const { line } = error.details;
    const own =
      typeof line === 'number' ? Math.min(Math.max(1, line - before), lineAt(text, text.length)) : null;
    throw invalid(`this is no YAML. Pandoc says: ${withoutPlace(error.message)}`, own, error);
  }
}

/** Where it is is said by us, in lines of what was given. */
const withoutPlace = (message: string): string =>
  message.replace(/^.*exception at line \d+, column \d+[,:]?\s*/s, '').slice(0, 500);

/** Pandoc leaves out what it cannot use, without a word. */
export function yamlEntries(text: string): number {
  const indent = /^([ \t]*)- /m.exec(text)?.[1];
  return indent === undefined
    ? 0
    : [...text.matchAll(/^([ \t]*)- /gm)].filter(([, own]) => own === indent).length;
}

/** `before` is how many lines stand in front of what were the first. */
function asFrontMatter(text: string): { before: number; block: string } {
  const isMarked = /^---[ \t]*\r?\n/.test(text);
  const inner = text.replace(/^---[ \t]*\r?\n/, '').replace(/\r?\n(?:---|\.\.\.)\s*$/, '');
  const isList = !/^references[ \t]*:/m.test(inner);
  const before = (isMarked ? 0 : 1) + (isList ? 1 : 0);
  return { before, block: `---\n${isList ? 'references:\n' : ''}${inner}\n---\n` };
}

/** Texts are Markdown there, addresses and numbers are not. Within double quotes YAML wants the backslash twice. */
function literalAddresses(block: string): string {
  return block.replaceAll(
    /^([ \t-]*(?:URL|DOI|PMID|PMCID|ISBN|ISSN)[ \t]*:[ \t]*)(\S.*)$/gm,
    (_, name, value) => {
      const escape = String(value).startsWith('"') ? '\\\\' : '\\';
      return `${String(name)}${String(value).replaceAll(/[*_`~^$[\]<>]/g, (sign) => `${escape}${sign}`)}`;
    },
  );
}

const mostAliases = 20;

/** Aliases of aliases make an endless list of a short text. */
function demandFewAliases(text: string): void {
  const anchors = new Set(
    [...text.matchAll(/(?<=^|[\s,:[{-])&([^\s,[\]{}]{1,100})/g)].map(([, name]) => name),
  );
  if (anchors.size === 0) return;
  const aliases = text.matchAll(/(?<=^|[\s,:[{-])\*([^\s,[\]{}]{1,100})/g);
  if (
    aliases
      .filter(([, name]) => anchors.has(name))
      .take(mostAliases + 1)
      .toArray().length > mostAliases
  )
    throw invalid(`it has more than ${mostAliases} aliases. Write the entries out.`, null);
}
