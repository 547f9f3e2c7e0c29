/** What an open page hears of by Server-Sent Events: `events.ts` sends them, `live-page.browser.ts` reads them. */

export interface ShownPiece {
  /** `passed` is for our own words about what is not shown. */
  readonly stream: 'stdout' | 'stderr' | 'passed';
  readonly text: string;
}

/** The events by their names, with what each says. */
export interface PageEvents {
  /** What a run printed since the last of these, without so many characters at its start. */
  readonly output: { readonly passed: number; readonly pieces: readonly ShownPiece[] };
  /** All that a run printed. */
  readonly whole: readonly ShownPiece[];
  /** Why a run ended. */
  readonly end: string;
  /** A part of the page, as HTML. */
  readonly part: string;
}
