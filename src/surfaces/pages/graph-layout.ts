/**
 * Where the nodes of a graph of actions go: in layers from left to right, so that what was used is left of what was made.
 * It is bounded, whatever it is given, and a graph that leads back to itself is laid out too. It draws nothing.
 */

/** Something that an action used or made. */
export interface GraphThing {
  readonly id: string;
  readonly name: string;
  readonly href: string | null;
}

export interface GraphAction {
  readonly id: string;
  readonly name: string;
  /** Who, when, and the like: a line each. */
  readonly facts: readonly string[];
  readonly instruments: readonly GraphThing[];
  readonly objects: readonly GraphThing[];
  /** How many objects there are, of which these are the first. */
  readonly objectCount: number;
  readonly results: readonly GraphThing[];
  readonly resultCount: number;
  readonly failed: boolean;
}

export type DrawnNode = PlacedBox &
  (
    | { readonly kind: 'action'; readonly action: GraphAction }
    | { readonly kind: 'thing'; readonly thing: GraphThing }
    | { readonly kind: 'more'; readonly count: number }
  );

interface PlacedBox {
  readonly width: number;
  readonly height: number;
  layer: number;
  x: number;
  y: number;
}

interface GraphEdge {
  readonly from: DrawnNode;
  readonly to: DrawnNode;
  /** Whether it leads back to an earlier layer, since the graph has a cycle. */
  isBack: boolean;
}

export interface GraphLayout {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly height: number;
  readonly shownActions: number;
}

/** At most so many nodes are drawn. */
export const maxNodes = 60;
const maxActions = 12;
const maxThingsOfSide = 12;

const thingSize = { width: 168, height: 40 };
const actionWidth = 216;
const lineHeight = 20;
const [columnGap, rowGap, margin] = [40, 12, 10];

export function layOutGraph(actions: readonly GraphAction[]): GraphLayout {
  const shown = actions.slice(0, maxActions);
  const { nodes, edges } = connectNodes(shown);
  const outgoing = Map.groupBy(edges, ({ from }) => from);
  markBackEdges(nodes, outgoing);
  assignLayers(nodes, edges);
  const layers = orderLayers(nodes, edges);
  const { width, height } = placeNodes(layers);
  return { nodes, edges, width, height, shownActions: shown.length };
}

const noPlace = { layer: 0, x: 0, y: 0 };

/** A name, its instruments and its facts, a line each. */
const measureAction = ({ instruments, facts }: GraphAction): number =>
  24 + lineHeight * (1 + instruments.length + facts.length);

function connectNodes(actions: readonly GraphAction[]): { nodes: DrawnNode[]; edges: GraphEdge[] } {
  const nodes: DrawnNode[] = [];
  const edges: GraphEdge[] = [];
  const things = new Map<string, DrawnNode>();
  const uses = countUses(actions);
  const most = Math.min(maxThingsOfSide, Math.floor((maxNodes / Math.max(1, actions.length) - 1) / 2));
  const add = (node: DrawnNode): DrawnNode => (nodes.push(node), node);
  const addThing = (thing: GraphThing): DrawnNode => {
    const known = things.get(thing.id) ?? add({ kind: 'thing', thing, ...thingSize, ...noPlace });
    things.set(thing.id, known);
    return known;
  };
  const addSide = (side: readonly GraphThing[], count: number): DrawnNode[] => {
    // What two actions share comes first: it is what connects them.
    const inOrder = side.toSorted((one, other) => uses.get(other.id)! - uses.get(one.id)!);
    const some = inOrder.slice(0, count > most ? most - 1 : most);
    const left = count - some.length;
    const more = left === 0 ? [] : [add({ kind: 'more', count: left, ...thingSize, ...noPlace })];
    return [...some.map(addThing), ...more];
  };
  for (const action of actions) {
    const size = { width: actionWidth, height: measureAction(action) };
    const node = add({ kind: 'action', action, ...size, ...noPlace });
    for (const from of addSide(action.objects, action.objectCount))
      edges.push({ from, to: node, isBack: false });
    for (const to of addSide(action.results, action.resultCount))
      edges.push({ from: node, to, isBack: false });
  }
  return { nodes, edges };
}

function countUses(actions: readonly GraphAction[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const { objects, results } of actions)
    for (const { id } of [...objects, ...results]) uses.set(id, (uses.get(id) ?? 0) + 1);
  return uses;
}

type Outgoing = ReadonlyMap<DrawnNode, readonly GraphEdge[]>;

/** A walk into the depth: an edge to a node that the walk has not left yet closes a cycle. */
function markBackEdges(nodes: readonly DrawnNode[], outgoing: Outgoing): void {
  const state = new Map<DrawnNode, 'open' | 'done'>();
  const visit = (node: DrawnNode): void => {
    state.set(node, 'open');
    for (const edge of outgoing.get(node) ?? []) {
      const of = state.get(edge.to);
      if (of === 'open') edge.isBack = true;
      else if (of === undefined) visit(edge.to);
    }
    state.set(node, 'done');
  };
  for (const node of nodes) if (!state.has(node)) visit(node);
}

/** By the longest way to each; then what nothing made moves next to what uses it first. */
function assignLayers(nodes: readonly DrawnNode[], edges: readonly GraphEdge[]): void {
  const forward = edges.filter(({ isBack }) => !isBack);
  for (let changed = true, round = 0; changed && round <= nodes.length; round++) {
    changed = false;
    for (const { from, to } of forward) {
      if (to.layer > from.layer) continue;
      to.layer = from.layer + 1;
      changed = true;
    }
  }
  const made = new Set(forward.map(({ to }) => to));
  const users = Map.groupBy(forward, ({ from }) => from);
  for (const [node, used] of users)
    if (!made.has(node)) node.layer = Math.min(...used.map(({ to }) => to.layer)) - 1;
}

const sweeps = 4;

/** By the mean place of the neighbours, back and forth, so that few edges cross. */
function orderLayers(nodes: readonly DrawnNode[], edges: readonly GraphEdge[]): DrawnNode[][] {
  const count = Math.max(-1, ...nodes.map(({ layer }) => layer)) + 1;
  const layers = Array.from({ length: count }, (_, layer) => nodes.filter((node) => node.layer === layer));
  const neighbours = new Map<DrawnNode, DrawnNode[]>(nodes.map((node) => [node, []]));
  for (const { from, to } of edges) {
    neighbours.get(from)!.push(to);
    neighbours.get(to)!.push(from);
  }
  const place = new Map<DrawnNode, number>();
  const number = (layer: readonly DrawnNode[]): void =>
    layer.forEach((node, at) => place.set(node, at - layer.length / 2));
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < sweeps; sweep++)
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const mean = new Map(layer.map((node) => [node, meanOf(neighbours.get(node)!, place)]));
      // What stands for the rest stays last.
      layer.sort((one, other) => rank(one) - rank(other) || mean.get(one)! - mean.get(other)!);
      number(layer);
    }
  return layers;
}

const rank = ({ kind }: DrawnNode): number => Number(kind === 'more');

const meanOf = (neighbours: readonly DrawnNode[], place: ReadonlyMap<DrawnNode, number>): number =>
  neighbours.reduce((sum, node) => sum + place.get(node)!, 0) / Math.max(1, neighbours.length);

/** Columns side by side, each in the middle of the height. */
function placeNodes(layers: readonly DrawnNode[][]): { width: number; height: number } {
  const measure = (layer: readonly DrawnNode[]): number =>
    layer.reduce((sum, node) => sum + node.height + rowGap, -rowGap);
  const height = Math.max(0, ...layers.map(measure));
  let x = margin;
  for (const layer of layers) {
    const width = Math.max(0, ...layer.map((node) => node.width));
    let y = margin + (height - measure(layer)) / 2;
    for (const node of layer) {
      [node.x, node.y] = [x + (width - node.width) / 2, y];
      y += node.height + rowGap;
    }
    x += width + columnGap;
  }
  return { width: Math.max(0, x - columnGap) + margin, height: height + 2 * margin };
}
