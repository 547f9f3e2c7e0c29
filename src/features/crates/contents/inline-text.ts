/** The largest file of a crate that is shown as text. It is apart, since the tools name it before a crate is opened. */
export const maxInlineTextBytes = 20_000;
