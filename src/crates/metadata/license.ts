import type { CrateMetadata } from '../crate.ts';
import { cut } from './clean.ts';
import { firstOf, labelOf } from './labels.ts';
import { valuesOf, type Graph, type Node } from './graph.ts';
import { isAbsolute, isBlank } from './ids.ts';
import type { Issues } from './issues.ts';

type License = NonNullable<CrateMetadata['license']>;

const longest = 1000;

export function readLicense(graph: Graph, root: Node, issues: Issues): License | null {
  const given = valuesOf(root, 'license').filter((value) => 'target' in value || value.text.trim() !== '');
  if (given.length > 1) issues.add('several_licenses');
  const [first] = given;
  if (first === undefined) {
    issues.add('root_without_license');
    return null;
  }
  return shortened('target' in first ? fromEntity(graph, first.target) : fromText(graph, first.text.trim()));
}

/** Some put the whole text of the license there. */
function shortened({ id, name }: License): License {
  const short = (text: string | null): string | null => (text === null ? null : cut(text, longest));
  return { id: short(id), name: short(name) };
}

function fromEntity(graph: Graph, place: number): License {
  const node = graph.nodes[place]!;
  const id = isBlank(node.id!) ? firstOf(node, ['url', 'identifier']) : node.id!;
  return { id, name: labelOf(node) ?? (id === null ? null : wellKnownName(id)) };
}

function fromText(graph: Graph, text: string): License {
  const place = graph.find(text);
  if (place !== null) return fromEntity(graph, place);
  return isAbsolute(text) && !/\s/.test(text)
    ? { id: text, name: wellKnownName(text) }
    : { id: null, name: text };
}

/** Where a crate gives an address and no name, the address often says it: the identifier of SPDX. */
function wellKnownName(address: string): string | null {
  const listed = /(?:spdx|opensource)\.org\/licenses?\/([\w.+-]+?)(?:\.html|\.json)?\/?$/i.exec(address)?.[1];
  if (listed !== undefined) return listed;
  const [, kind, version] = /creativecommons\.org\/licenses\/([a-z-]+)\/(\d\.\d)/i.exec(address) ?? [];
  if (kind !== undefined) return `CC-${kind.toUpperCase()}-${version}`;
  return /creativecommons\.org\/publicdomain\/zero\/1\.0/i.test(address) ? 'CC0-1.0' : null;
}
