import type { CrateMetadata } from '../crate.ts';
import { labelOf } from './labels.ts';
import { textsOf, valuesOf, type Graph, type Node } from './graph.ts';
import { isAbsolute, isBlank } from './ids.ts';
import type { Issues } from './issues.ts';

type License = CrateMetadata['license'];

export function readLicense(graph: Graph, root: Node, issues: Issues): License {
  const licenses = valuesOf(root, 'license').flatMap((property) => {
    if ('target' in property) return fromEntity(graph, property.target);
    return fromText(graph, property.text.trim()) ?? [];
  });
  if (licenses.length === 0) issues.add('root_without_license');
  if (licenses.length > 1) issues.add('several_licenses');
  return licenses[0] ?? null;
}

function fromEntity(graph: Graph, place: number): NonNullable<License> {
  const node = graph.nodes[place]!;
  const address = isBlank(node.id!) ? [...textsOf(node, 'url'), ...textsOf(node, 'identifier')][0] : node.id!;
  const id = address ?? null;
  return { id, name: labelOf(node) ?? (id === null ? null : wellKnownName(id)) };
}

function fromText(graph: Graph, text: string): License {
  if (text === '') return null;
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
