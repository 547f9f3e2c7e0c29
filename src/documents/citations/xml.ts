export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** 0 is the root. */
  readonly depth: number;
  readonly at: number;
}

const mostElements = 50_000;
const mostDepth = 100;
const markup =
  /<(?:!--[\s\S]*?-->|!\[CDATA\[[\s\S]*?\]\]>|\?[\s\S]*?\?>|(\/?)([A-Za-z_][\w.:-]*)((?:[^<>"']|"[^"<]*"|'[^'<]*')*?)(\/?)>)/y;
const attribute = /\s+([A-Za-z_][\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')|(\S)/g;

/**
 * The elements of an XML document in their order. No more of XML than styles need: a document type, which could define
 * entities, is refused. `refuse` is told what is wrong and where, and throws.
 */
export function elementsOf(text: string, refuse: (what: string, at: number) => never): XmlElement[] {
  const elements: XmlElement[] = [];
  const open: string[] = [];
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', markup.lastIndex)) {
    markup.lastIndex = at;
    const found = markup.exec(text);
    if (found === null) return refuse(whyNot(text, at), at);
    const [, closing, name, rest = '', empty] = found;
    if (name === undefined) continue;
    if (closing === '/') {
      const last = open.pop();
      if (last !== name) refuse(`this is no XML: </${name}> closes ${last ? `<${last}>` : 'nothing'}.`, at);
      continue;
    }
    if (open.length === 0 && elements.length > 0) refuse('this is no XML: there is more than one root.', at);
    elements.push({ name, attributes: attributesOf(rest, at, refuse), depth: open.length, at });
    if (elements.length > mostElements || open.length > mostDepth)
      refuse('it has far more elements than a style has.', at);
    if (empty !== '/') open.push(name);
  }
  if (elements.length === 0) refuse('this is no XML: it has no elements.', 0);
  if (open.length > 0) refuse(`this is no XML: <${open.at(-1)}> is not closed.`, text.length);
  return elements;
}

function whyNot(text: string, at: number): string {
  if (/^<!(?:DOCTYPE|ENTITY)/i.test(text.slice(at, at + 10)))
    return 'it has a document type or an entity, which a style must not have.';
  return 'this is no XML: a "<" begins nothing that is closed.';
}

function attributesOf(
  text: string,
  at: number,
  refuse: (what: string, at: number) => never,
): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name, double, single, stray] of text.matchAll(attribute)) {
    if (stray !== undefined) return refuse(`this is no XML: an attribute is wrong at "${stray}".`, at);
    attributes.set(name!, double ?? single ?? '');
  }
  return attributes;
}
