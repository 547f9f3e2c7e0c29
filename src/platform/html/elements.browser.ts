/** Finds and makes elements, for scripts of pages and views. What users stored reaches a page as text alone. */

/** The element of a page that its server wrote for this script. */
export function find<E extends Element>(within: ParentNode, selector: string, kind: new () => E): E {
  const found = within.querySelector(selector);
  if (found instanceof kind) return found;
  throw new Error(`This page has no ${selector}.`);
}

export type ElementAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Nothing, or lists of them, may be among the children. */
export type ElementChild = Node | string | null | undefined | readonly ElementChild[];

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: ElementAttributes = {},
  ...children: ElementChild[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value));
  element.append(...flatten(children));
  return element;
}

export const flatten = (children: readonly ElementChild[]): (Node | string)[] =>
  children.flatMap((child) => {
    if (child === null || child === undefined) return [];
    return typeof child === 'string' || child instanceof Node ? child : flatten(child);
  });
