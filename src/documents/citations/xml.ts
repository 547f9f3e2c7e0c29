import { parseAttributes, scanXml, XmlError, type XmlTag } from '../../net/xml.ts';

export interface XmlElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** 0 is the root. */
  readonly depth: number;
  readonly at: number;
}

type Refuse = (what: string, at: number) => never;

const limits = { mostElements: 50_000, mostDepth: 101 };
const nameForm = /^[A-Za-z_][\w.:-]*$/;

/**
 * The elements of an XML document in their order. No more of XML than styles need: a document type, which could define
 * entities, is refused. `refuse` is told what is wrong and where, and throws.
 */
export function elementsOf(text: string, refuse: Refuse): XmlElement[] {
  try {
    return readElements(text, refuse);
  } catch (error) {
    if (error instanceof XmlError) return refuse(describe(error, text), error.at);
    throw error;
  }
}

function readElements(text: string, refuse: Refuse): XmlElement[] {
  const elements: XmlElement[] = [];
  const open: string[] = [];
  for (const tag of scanXml(text, limits)) {
    if (tag.kind === 'instruction') continue;
    const { at } = tag;
    if (tag.kind === 'doctype') throw new XmlError('declaration', at);
    if (tag.kind === 'end') {
      const last = open.pop();
      if (last !== tag.name)
        refuse(`this is no XML: </${tag.name}> closes ${last ? `<${last}>` : 'nothing'}.`, at);
      continue;
    }
    if (open.length === 0 && elements.length > 0) refuse('this is no XML: there is more than one root.', at);
    elements.push({ name: tag.name, attributes: readAttributes(tag), depth: open.length, at });
    if (tag.kind === 'start') open.push(tag.name);
  }
  if (elements.length === 0) refuse('this is no XML: it has no elements.', 0);
  if (open.length > 0) refuse(`this is no XML: <${open.at(-1)}> is not closed.`, text.length);
  return elements;
}

function readAttributes(tag: XmlTag): Map<string, string> {
  if (!nameForm.test(tag.name)) throw new XmlError('tag', tag.at);
  const attributes = parseAttributes(tag);
  const wrong = attributes.find(([name]) => !nameForm.test(name));
  if (wrong !== undefined) throw new XmlError('attribute', tag.at, wrong[0][0]);
  return new Map(attributes);
}

function describe({ problem, at, message }: XmlError, text: string): string {
  if (problem === 'too_many' || problem === 'too_deep') return 'it has far more elements than a style has.';
  if (problem === 'attribute') return `this is no XML: an attribute is wrong at "${message}".`;
  if (/^<!(?:DOCTYPE|ENTITY)/i.test(text.slice(at, at + 10)))
    return 'it has a document type or an entity, which a style must not have.';
  return 'this is no XML: a "<" begins nothing that is closed.';
}
