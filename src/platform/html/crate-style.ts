/** The look of the search for crates, of one crate, and of how to connect. It is a part of the one style sheet. */
export const crateStyle = `h2.first, .card > h3:first-child { margin-top: 0; }
h3 { font-size: 1rem; line-height: 1.4; margin: 0 0 0.4rem; font-weight: 620; overflow-wrap: anywhere; }
.lead { white-space: pre-line; overflow-wrap: anywhere; max-width: 44rem; }
.filter .wide { flex: 1 1 16rem; } .filter .wide input { width: 100%; }
.found { display: grid; grid-template-columns: minmax(0, 1fr) 13rem; gap: 2rem; align-items: start; }
.facets { font-size: var(--small); } .facets h2 { font-size: var(--small); color: var(--muted); margin: 0 0 0.3rem; }
.facets ul { list-style: none; padding: 0; margin: 0 0 1.4rem; }
.facets li { display: flex; justify-content: space-between; gap: 0.8rem; padding: 0.12rem 0; overflow-wrap: anywhere; }
.chips { display: flex; flex-wrap: wrap; gap: 0.5rem; }
.chip { font-size: var(--small); border: 1px solid var(--accent); border-radius: 99px; padding: 0.15rem 0.8rem;
  text-decoration: none; overflow-wrap: anywhere; }
.result { padding: 1.2rem 1.4rem; } .result h2 { margin-bottom: 0.2rem; overflow-wrap: anywhere; }
.result .facts { margin: 0 0 0.5rem; font-size: var(--small); } .result p:last-child { margin-bottom: 0; }
.result p { overflow-wrap: anywhere; } .place { color: var(--muted); font-size: var(--small); white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; } .to-facets { display: none; } .filter button { padding: 0.5rem 1.2rem; }
mark { background: none; color: inherit; font-weight: 650; box-shadow: inset 0 -0.45em 0 color-mix(in srgb, var(--accent) 24%, transparent); }
.paging { display: flex; gap: 1.2rem; align-items: baseline; margin: 1rem 0; }
.index { margin-top: 2.6rem; } .index .actions { margin: 0 0 0.8rem; justify-content: space-between; }
.index .actions p { margin: 0; } .problems { padding-left: 1.2rem; font-size: var(--small); overflow-wrap: anywhere; }
.problems li { margin-bottom: 0.3rem; } details { margin-top: 1rem; } summary { cursor: pointer; font-weight: 560; }
.preview.framed { margin-top: 0; } .preview.framed iframe { height: min(60vh, 36rem); }
.files li > span { min-width: 0; } .files form { flex: none; } .files li { align-items: center; }
.copy { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0.4rem 0.8rem; align-items: center;
  margin-bottom: 1.4rem; } .copy h3 { grid-column: 1 / -1; margin: 0; }
.copy pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 48rem) { .to-facets { display: block; } .found { grid-template-columns: minmax(0, 1fr); gap: 1rem; }
  .copy { grid-template-columns: minmax(0, 1fr); } .copy button { justify-self: start; } }
@media (max-width: 34rem) { .files li { flex-wrap: wrap; } }
`;
