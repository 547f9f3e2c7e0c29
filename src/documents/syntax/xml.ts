/** As much of XML as is needed to see every tag. Names are in small letters and without their prefixes. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: readonly (readonly [name: string, value: string])[];
}

export interface XmlHandler {
  element(element: XmlElement): void;
  /** What stands in a style element. */
  style(text: string): void;
  /** Throws. */
  wrong(what: string): never;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

const mostElements = 1_000_000;
/** Deeper, what draws it runs out of stack. */
const mostDepth = 256;
const references: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
// Each is tried at one place only (`y`), and a text in which one fails is refused, so that none takes long.
const startTag = /<([^\s<>/="'!?]+)((?:\s+[^\s<>/="'!?]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*\/?>/y;
const endTag = /<\/[^\s<>/]+\s*>/y;
const doctypeTag = /<!DOCTYPE\s+[^\s<>[\]"']+(?:\s+[A-Z]+|\s+"[^"]*"|\s+'[^']*')*\s*>/y;
const attribute = /([^\s<>/="']+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** Goes through a text, and tells where its DOCTYPE stands; null: it has none. */
export function scanXml(text: string, handler: XmlHandler): Place | null {
  let [doctype, count, depth, style]: [Place | null, number, number, number] = [null, 0, 0, -1];

  function tag(at: number): number {
    if (style >= 0) handler.style(unescaped(text.slice(style, at), handler));
    style = -1;
    if (text.startsWith('</', at)) {
      depth--;
      return matched(endTag, at).end;
    }
    const { end, groups } = matched(startTag, at);
    const name = localName(groups[1]!);
    const isEmpty = text.startsWith('/>', end - 2);
    if (++count > mostElements) handler.wrong('it has too many elements');
    if (!isEmpty && ++depth > mostDepth)
      handler.wrong(`its elements stand in each other more than ${mostDepth} deep`);
    handler.element({ name, attributes: attributesOf(groups[2]!, handler) });
    if (name === 'style' && !isEmpty) style = end;
    return end;
  }

  /** What begins with `<!`. In a style element it is a part of the style. */
  function declaration(at: number): number {
    if (text.startsWith('<!--', at)) return after('-->', at + 4);
    if (text.startsWith('<![CDATA[', at)) return after(']]>', at + 9);
    if (doctype !== null || count > 0) return handler.wrong('it has a DOCTYPE within it');
    doctype = { start: at, end: matched(doctypeTag, at, 'its DOCTYPE declares things').end };
    return doctype.end;
  }

  function matched(form: RegExp, at: number, otherwise = 'a tag is damaged') {
    form.lastIndex = at;
    const groups = form.exec(text) ?? handler.wrong(otherwise);
    return { end: form.lastIndex, groups };
  }

  function after(end: string, from: number): number {
    const at = text.indexOf(end, from);
    return at < 0 ? handler.wrong('it is cut off') : at + end.length;
  }

  let at = /^<\?xml\s/.test(text) ? after('?>', 0) : 0;
  while ((at = text.indexOf('<', at)) >= 0) at = text.startsWith('<!', at) ? declaration(at) : tag(at);
  return doctype;
}

function attributesOf(text: string, handler: XmlHandler): (readonly [string, string])[] {
  return Array.from(text.matchAll(attribute), ([, name, double, single]) => [
    localName(name!),
    unescaped(double ?? single ?? '', handler),
  ]);
}

const localName = (name: string): string => name.slice(name.lastIndexOf(':') + 1).toLowerCase();

function unescaped(text: string, handler: XmlHandler): string {
  return text.replaceAll(/&([^;&]{0,12});?/g, (_, name: string) => {
    const [, hexadecimal, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(name) ?? [];
    const code = Number.parseInt(hexadecimal ?? decimal ?? '', hexadecimal === undefined ? 10 : 16);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    return Object.hasOwn(references, name) ? references[name]! : handler.wrong('it has entities of its own');
  });
}
