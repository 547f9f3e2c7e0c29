/** What the pages at `/` share: the navigation, how times and states are told, and forms that only these pages can send. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { describeState } from '../../core/runs/describe-run.ts';
import { createBrowserScript, type BrowserScript } from '../../platform/html/browser-script.ts';
import { html, nothing, renderPage, type Html } from '../../platform/html/html.ts';
import { createPolicy, toPageResponse } from '../../platform/html/response.ts';

/** For pages that change while they are open. */
export const liveScript = createBrowserScript(import.meta, 'live-page');

/** For pages with lines to copy. */
export const copyScript = createBrowserScript(import.meta, 'copy-line');

const views = [
  ['/', 'Runs'],
  ['/sessions', 'Sessions'],
  ['/library', 'Files'],
  ['/crates', 'Crates'],
  ['/documents', 'Documents'],
  ['/connect', 'Connect'],
  ['/usage', 'Usage'],
  ['/operate', 'Operate'],
] as const;

export interface ViewPage {
  readonly title: string;
  /** The address of the view in the navigation. */
  readonly view: (typeof views)[number][0];
  readonly body: Html;
  readonly script?: BrowserScript;
  readonly status?: number;
  /** Whether the visitor sees the views for operators. */
  readonly mayOperate?: boolean;
  /** Who is signed in, with the token of their forms; null where nobody signs in. */
  readonly signedIn?: { readonly user: string; readonly token: string } | null;
}

/** A whole page with the navigation. */
export async function answerView({
  title,
  view,
  body,
  script,
  status = 200,
  mayOperate = false,
  signedIn = null,
}: ViewPage): Promise<Response> {
  const shown = views.filter(([path]) => path !== '/operate' || mayOperate);
  const navigation = html`<nav aria-label="Views">
    ${shown.map(
      ([path, name]) =>
        html`<a href="${path}" ${path === view ? html`aria-current="page"` : nothing}>${name}</a>`,
    )}
    ${signedIn === null ? nothing : renderAction('/sign-out', `Sign out ${signedIn.user}`, signedIn.token, 'small')}
  </nav>`;
  const page = await renderPage({
    title: `${title} · Workcrate`,
    navigation,
    body,
    ...(script === undefined ? {} : { script }),
  });
  const policy = createPolicy({
    sends: script !== undefined,
    shows: true,
    submits: true,
    ...(script && { script }),
  });
  return toPageResponse(page, status, policy);
}

/** A time as a list shows it, in UTC. */
export const renderShortTime = (iso: string): Html =>
  html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)}</time>`;

/** The same for a time in milliseconds. */
export const renderMoment = (at: number): Html => renderShortTime(new Date(at).toISOString());

/** How long ago something was; the moment itself is shown where somebody points at it. */
export function renderAgo(at: number, now: number): Html {
  const [iso, ms] = [new Date(at).toISOString(), Math.max(0, now - at)];
  const [length, unit] =
    ms < 3_600_000 ? [60_000, 'min'] : ms < 86_400_000 ? [3_600_000, 'h'] : [86_400_000, 'days'];
  const words = ms < 60_000 ? 'just now' : `${Math.floor(ms / length)} ${unit} ago`;
  return html`<time datetime="${iso}" title="${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC">${words}</time>`;
}

/** The head of a column; that of numbers is aligned with them, and that of buttons stays in sight. */
export type ListHead = string | { readonly number: string } | { readonly action: string };

/** A table with many rows, which scrolls by itself where it is wider than the page. */
export const renderList = (label: string, heads: readonly ListHead[], rows: readonly Html[]): Html =>
  html`<div class="scroll list" tabindex="0" role="region" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${heads.map(renderHead)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

function renderHead(head: ListHead): Html {
  if (typeof head === 'string') return html`<th scope="col">${head}</th>`;
  if ('number' in head) return html`<th scope="col" class="number">${head.number}</th>`;
  return html`<th scope="col" class="do">${head.action}</th>`;
}

/** How a run ended, in a word with a colour; the word alone says it too. */
export function renderState(reason: string, exitCode: number | null): Html {
  const { kind, word } = describeState(reason, exitCode);
  return html`<span class="state ${kind}">${word}</span>`;
}

/** Shown by the script while a live page hears nothing. */
export const renderConnectionNote = (): Html =>
  html`<p id="connection" class="note" role="status" hidden>
    The connection to the server is lost. This page goes on by itself.
  </p>`;

/** Proves that a form came from a page of this server, for this user. Another server of a team has the same secret. */
export function createFormTokens(secret: Uint8Array = randomBytes(32)) {
  const sign = (user: string): string =>
    createHmac('sha256', secret).update(`page form\n${user}`).digest('base64url');
  return {
    make: sign,
    isGood: (user: string, given: unknown): boolean => {
      const [own, sent] = [Buffer.from(sign(user)), Buffer.from(typeof given === 'string' ? given : '')];
      return own.length === sent.length && timingSafeEqual(own, sent);
    },
  };
}

export type FormTokens = ReturnType<typeof createFormTokens>;

/** A button that changes something. Fields are sent with it; `label` is what it is called where its text says too little. */
export const renderAction = (
  path: string,
  label: string,
  token: string,
  kind: keyof typeof buttonClasses = 'quiet',
  { label: spoken, ...fields }: Readonly<Record<string, string>> = {},
): Html =>
  html`<form method="post" action="${path}">
    <input type="hidden" name="token" value="${token}" />
    ${Object.entries(fields).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <button class="${buttonClasses[kind]}" ${spoken === undefined ? nothing : html`aria-label="${spoken}"`}>
      ${label}
    </button>
  </form>`;

const buttonClasses = { plain: '', quiet: 'quiet', small: 'quiet small', danger: 'danger' } as const;
