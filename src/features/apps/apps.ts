/**
 * The pages of the views of MCP Apps, as resources. Each tool says itself which view it has (`view`). What clients are told
 * of views is decided in `core/offer/views.ts`; the tools that only views call are in `tools.ts`.
 */
import type { DeclaredExtension } from '../../core/offer/extension.ts';
import { beginsWith, type DeclaredResources } from '../../core/offer/resource.ts';
import { showsViews, viewMediaType, viewsExtension } from '../../core/offer/views.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { renderView, viewNames, viewTitles } from './page.ts';

const template = 'ui://workcrate/{view}';

/** The pages of the views. They are the same for everybody, and hold no data. */
export const viewResources: DeclaredResources<unknown> = {
  name: 'view',
  group: null,
  isFor: ({ capabilities }) => showsViews(capabilities),
  title: 'View',
  description: 'A page that a host shows beside the answer of a tool.',
  template,
  list: async (_room, { after }) => ({
    resources: viewNames
      .filter((name) => after === null || name > after)
      .map((name) => ({
        variables: { view: name },
        name: `view-${name}`,
        description: `${viewTitles[name]}, a page that a host shows beside the answer of a tool`,
        mimeType: viewMediaType,
      })),
    next: null,
  }),
  async read(_room, { view = '' }) {
    const name = viewNames.find((one) => one === view);
    if (name === undefined)
      throw new WorkcrateError('not_found', `There is no such view. There are: ${viewNames.join(', ')}.`);
    // It needs no network, so it asks for none: hosts then apply their strictest policy.
    return { mimeType: viewMediaType, text: renderView(name), _meta: { ui: { prefersBorder: true } } };
  },
  complete: async (_room, _variable, begun) => viewNames.filter((name) => beginsWith(name, begun)),
};

/** Tells clients that there are views. It has no methods: views are resources. */
export const viewsDeclaration: DeclaredExtension<unknown> = {
  name: viewsExtension,
  settings: {},
  group: null,
  methods: [],
};
