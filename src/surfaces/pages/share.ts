/** Sharing: for how long and how often, and the page that shows the new link once, with a QR code of it. */
import { html, nothing, renderTime, type Html } from '../../platform/html/html.ts';
import { renderQr } from '../../platform/html/qr.ts';
import { renderAction } from './frame.ts';
import type { ToolAnswers } from './tool-answers.ts';

const hour = 3600;

const lifetimes = [
  [hour, 'an hour'],
  [24 * hour, 'a day'],
  [7 * 24 * hour, 'a week'],
  [30 * 24 * hour, '30 days'],
] as const;

export interface ShareForm {
  readonly action: string;
  readonly token: string;
  /** What is shared, where the address does not say it. */
  readonly fields?: Readonly<Record<string, string>>;
  /** How long a link may live, in seconds. */
  readonly maxTtl: number;
}

export function renderShareForm({ action, token, fields = {}, maxTtl }: ShareForm): Html {
  const offered = lifetimes.filter(([seconds]) => seconds <= maxTtl);
  return html`<form class="filter" method="post" action="${action}">
    <input type="hidden" name="token" value="${token}" />
    ${Object.entries(fields).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    ${
      offered.length === 0
        ? nothing
        : html`<label
            >Works for
            <select name="seconds">
              ${offered.map(([seconds, words]) => html`<option value="${seconds}">${words}</option>`)}
            </select></label
          >`
    }
    <label class="check"><input type="checkbox" name="once" value="1" /> for one download only</label>
    <button>Share</button>
  </form>`;
}

/** The terms that the form asks for, as tools take them. */
export function readShareTerms(form: FormData): { ttl_seconds?: number; single_use: boolean } {
  const seconds = Number(form.get('seconds') ?? '');
  return { ...(seconds > 0 && { ttl_seconds: seconds }), single_use: form.get('once') === '1' };
}

export interface ShownLink {
  readonly link: ToolAnswers['share_file'];
  readonly isSingleUse: boolean;
  /** Where the page came from. */
  readonly back: string;
  readonly token: string;
}

export function renderMadeLink({ link, isSingleUse, back, token }: ShownLink): Html {
  const { filename, downloadUrl, expiresAt } = link;
  return html`<p><a href="${back}">Back</a></p>
    <section class="card made">
      <div>
        <h1>Link to ${filename}</h1>
        <p class="facts">
          <span>until ${renderTime(Date.parse(expiresAt))}</span>
          ${isSingleUse ? html`<span>for one download</span>` : nothing}
        </p>
        <p>Anyone who has this address can get the file. It is shown here once: copy it now.</p>
        <p class="copy">
          <input type="text" readonly value="${downloadUrl}" aria-label="Address of the link" />
          <button type="button" class="quiet" hidden aria-label="Copy the address">Copy</button>
        </p>
        <div class="actions">
          <a class="button" href="${downloadUrl}" rel="noreferrer">Open</a>
          ${renderAction('/library/links/revoke', 'Revoke', token, 'quiet', { link: link.token })}
        </div>
      </div>
      ${renderQr(downloadUrl, `QR code of the link to ${filename}`) ?? nothing}
    </section>`;
}
