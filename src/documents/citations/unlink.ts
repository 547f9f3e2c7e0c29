interface Link {
  readonly t: 'Link';
  readonly c: readonly [unknown, readonly unknown[], readonly [string, string]];
}

/** Puts what is linked in the place of links to these targets, wherever they are in the tree. */
export function unlink(tree: unknown, targets: ReadonlySet<string>): void {
  const ahead = [tree];
  while (ahead.length > 0) {
    const node = ahead.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (Array.isArray(node)) unlinkIn(node, targets);
    for (const child of Object.values(node)) ahead.push(child);
  }
}

function unlinkIn(list: unknown[], targets: ReadonlySet<string>): void {
  if (!list.some((child) => isLinkTo(child, targets))) return;
  const before = list.splice(0);
  for (const child of before)
    for (const one of isLinkTo(child, targets) ? child.c[1] : [child]) list.push(one);
}

function isLinkTo(node: unknown, targets: ReadonlySet<string>): node is Link {
  const { t, c } = (node ?? {}) as Partial<Link>;
  return t === 'Link' && c !== undefined && targets.has(c[2][0]);
}
