/**
 * How large and how deep a value of another server may be. Messages are bounded in bytes before (`process.ts`,
 * `upstream-fetch.ts`); here it is about values that are small to send and dear to work with.
 */

export interface ValueBounds {
  readonly depth: number;
  /** Keys, members of lists, lists and objects. */
  readonly nodes: number;
}

/** Of the definition of a tool. */
export const definitionBounds: ValueBounds = { depth: 48, nodes: 5000 };
/** Of all that a call, a resource or a prompt gives. Nobody else is served while it is walked: 320,000 took 0.7 s. */
export const resultBounds: ValueBounds = { depth: 100, nodes: 100_000 };

/** Whether a value is larger than it may be. It does not recurse, so that no depth can overflow the stack. */
export function exceedsBounds(value: unknown, { depth, nodes }: ValueBounds): boolean {
  let level: object[] = isNode(value) ? [value] : [];
  let seen = 0;
  for (let at = 0; level.length > 0; at++) {
    if (at > depth) return true;
    const next: object[] = [];
    for (const node of level) {
      const members: unknown[] = Array.isArray(node) ? node : Object.values(node);
      seen += members.length + 1;
      if (seen > nodes) return true;
      for (const member of members) if (isNode(member)) next.push(member);
    }
    level = next;
  }
  return false;
}

const isNode = (value: unknown): value is object => typeof value === 'object' && value !== null;
