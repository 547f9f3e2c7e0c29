/**
 * The views of MCP Apps: which tool has which, and the pages themselves as resources. What clients are told of them is
 * decided in `core/offer/views.ts`; the tools that only views call are in `tools.ts`.
 */
import type { Extension } from '../../core/offer/extension.ts';
import { beginsWith, type ResourceKind } from '../../core/offer/resource.ts';
import type { Tool } from '../../core/offer/tool.ts';
import { showsViews, viewMediaType, viewsExtension } from '../../core/offer/views.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { renderView, viewNames, viewTitles, type ViewName } from './page.ts';

/** The one list of the tools whose answers have a view. */
const viewsOfTools: Readonly<Record<string, ViewName>> = {
  execute_code: 'run',
  execute_bash: 'run',
  get_execution: 'run',
  send_to_session: 'run',
  run_script: 'run',
  get_artifact: 'table',
  share_file: 'table',
  read_crate_file: 'table',
  search_index: 'crate',
  search_by_entity: 'crate',
  get_crate: 'crate',
  list_crate_files: 'crate',
  request_upload: 'file-picker',
  read_client_file: 'file-picker',
};

const template = 'ui://workcrate/{view}';

/** The same tools, each with its view if it has one. */
export const addViews = (tools: readonly Tool[]): Tool[] =>
  tools.map((tool) => {
    const view = viewsOfTools[tool.name];
    return view === undefined ? tool : { ...tool, view: `ui://workcrate/${view}` };
  });

/** The pages of the views. They are the same for everybody, and hold no data. */
export function createViewResources(): ResourceKind {
  return {
    name: 'view',
    group: null,
    isFor: ({ capabilities }) => showsViews(capabilities),
    title: 'View',
    description: 'A page that a host shows beside the answer of a tool.',
    template,
    list: async ({ after }) => ({
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
    async read({ view = '' }) {
      const name = viewNames.find((one) => one === view);
      if (name === undefined)
        throw new WorkcrateError('not_found', `There is no such view. There are: ${viewNames.join(', ')}.`);
      // It needs no network, so it asks for none: hosts then apply their strictest policy.
      return { mimeType: viewMediaType, text: renderView(name), _meta: { ui: { prefersBorder: true } } };
    },
    complete: async (_variable, begun) => viewNames.filter((name) => beginsWith(name, begun)),
  };
}

/** Tells clients that there are views. It has no methods: views are resources. */
export const createViewsExtension = (): Extension => ({
  name: viewsExtension,
  settings: {},
  group: null,
  methods: [],
});
