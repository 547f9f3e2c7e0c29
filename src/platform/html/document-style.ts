/** The look of where documents are written: the text and what becomes of it, side by side where there is room. */
export const documentStyle = `.frame:has(.desk) { max-width: 92rem; }
.desk { display: grid; grid-template-columns: minmax(0, 1fr); gap: 1.6rem; }
.editor { display: grid; gap: 0.5rem; align-content: start; } .editor > label { color: var(--muted); font-size: var(--small); }
.editor textarea, .editor input[type="text"] { width: 100%; } .editor details { margin: 0.4rem 0; }
.editor details label { display: block; color: var(--muted); font-size: var(--small); margin: 0.6rem 0 0.2rem; }
textarea { font: 0.9rem/1.6 var(--mono); padding: 0.8rem 0.9rem; resize: vertical; tab-size: 4; }
fieldset { border: 1px solid var(--line); border-radius: 9px; margin: 0; padding: 0.4rem 0.9rem 0.7rem; display: flex;
  flex-wrap: wrap; gap: 0.3rem 1.1rem; } legend { color: var(--muted); font-size: var(--small); padding: 0 0.3rem; }
fieldset input { accent-color: var(--accent); } .editor .actions { margin-top: 0.6rem; }
.outcome { min-width: 0; scroll-margin-top: 9rem; } .outcome .preview { margin-top: 0; } .outcome .drop { margin-top: 1.9rem; }
.outcome > .note { margin-top: 0; }
@media (min-width: 72rem) { .desk { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
  .outcome { position: sticky; top: 1rem; align-self: start; } .outcome .preview iframe { height: calc(100vh - 12rem); } }
`;
