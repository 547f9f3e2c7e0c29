/** How much of something is used, as a bar. The figures beside it say the same, so that nobody needs to see it. */
import { html, type Html } from '../../platform/html/html.ts';

/** From here on somebody should look. */
const nearlyFull = 0.9;

/** A quota that is nearly used up has another colour; a share of all is no quota. */
export function renderBar(used: number, most: number, kind: 'quota' | 'share' = 'quota'): Html {
  const share = most <= 0 ? 0 : Math.min(1, Math.max(0, used / most));
  // What is there at all is seen.
  const width = used > 0 ? Math.max(1, Math.round(share * 100)) : 0;
  return html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
    <rect class="all" width="100" height="6" />
    <rect
      class="${kind === 'quota' && share >= nearlyFull ? 'used full' : 'used'}"
      width="${width}"
      height="6"
    />
  </svg>`;
}
