import { WorkcrateError } from '../../errors.ts';
import { loopIn } from './loops.ts';
import { lineAt } from './reference.ts';
import { elementsOf, type XmlElement } from './xml.ts';

export const mostStyleLength = 1024 * 1024;
const namespace = 'http://purl.org/net/xbiblio/csl';

/** Takes a style that citeproc can be given: CSL that stands on its own. */
export function demandStyle(text: string): void {
  if (text.length > mostStyleLength) throw invalidStyle('it is longer than 1 MB, which no style is.', null);
  const elements = elementsOf(text.replace(/^\u{feff}/u, ' '), (what, place) => {
    throw invalidStyle(what, lineAt(text, place));
  });
  const [root] = elements;
  if (root?.name !== 'style' || root.attributes.get('xmlns') !== namespace)
    throw invalidStyle(
      `it has to begin with <style xmlns="${namespace}">, as every .csl file does.`,
      root ? lineAt(text, root.at) : 1,
    );
  demandIndependent(elements);
  if (!elements.some(({ name, depth }) => name === 'citation' && depth === 1))
    throw invalidStyle('it has no <citation>, which says what citations look like.', null);
  demandNoLoops(elements, text);
}

export function invalidStyle(what: string, line: number | null): WorkcrateError {
  const where = line === null ? 'The citation style (CSL)' : `The citation style (CSL), line ${line}`;
  return new WorkcrateError(
    'document_invalid',
    `${where}: ${what}`,
    line === null ? {} : { details: { line } },
  );
}

/** A style may refer to another by its address, which would have to be fetched. */
function demandIndependent(elements: readonly XmlElement[]): void {
  const parent = elements.find(
    ({ name, attributes }) => name === 'link' && attributes.get('rel') === 'independent-parent',
  );
  if (!parent) return;
  const address = (parent.attributes.get('href') ?? 'another').slice(0, 300);
  throw invalidStyle(`this style only refers to ${address}: give that one, the independent style.`, null);
}

/** A macro that calls itself would never end. */
function demandNoLoops(elements: readonly XmlElement[], text: string): void {
  const calls = new Map<string, string[]>();
  const places = new Map<string, number>();
  let within: string[] = [];
  for (const { name, attributes, depth, at } of elements) {
    if (depth === 1) within = [];
    const own = attributes.get('name');
    if (depth === 1 && name === 'macro' && own !== undefined) {
      calls.set(own, within);
      places.set(own, at);
    }
    const called = attributes.get('macro');
    if (called !== undefined) within.push(called);
  }
  const loop = loopIn(calls.keys(), (macro) => calls.get(macro) ?? []);
  if (loop !== null)
    throw invalidStyle(
      `the macro "${loop.slice(0, 100)}" calls itself.`,
      lineAt(text, places.get(loop) ?? 0),
    );
}
