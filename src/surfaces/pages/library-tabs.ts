/** The three parts of the library, as links to each other. */
import { html, nothing, type Html } from '../../platform/html/html.ts';

const tabs = [
  ['/library', 'Files'],
  ['/library/artifacts', 'Artifacts'],
  ['/library/links', 'Links'],
] as const;

export const renderTabs = (current: (typeof tabs)[number][0]): Html =>
  html`<nav class="tabs" aria-label="Library">
    ${tabs.map(
      ([path, name]) =>
        html`<a href="${path}" ${path === current ? html`aria-current="page"` : nothing}>${name}</a>`,
    )}
  </nav>`;
