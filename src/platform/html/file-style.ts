/** The look of files and links: how they are sent, shared and listed. It is a part of the one style sheet. */
export const fileStyle = `button.danger, .button.danger { border-color: var(--danger); background: transparent; color: var(--danger); }
.sender .drop { margin-top: 0.8rem; } .sender[data-ask] .drop { padding: 1.2rem; }
.sender output:empty { min-height: 0; margin: 0; } .sender .actions:has(:disabled) { display: none; }
.sender input[type="file"] { color: transparent; max-width: 12rem; }
::file-selector-button { font: inherit; font-weight: 600; padding: 0.4rem 1rem; margin-right: 0.8rem; border-radius: 9px;
  border: 1px solid var(--accent); background: transparent; color: var(--accent); cursor: pointer; }
.sending { list-style: none; padding: 0; margin: 0; }
.sending li { display: grid; grid-template-columns: minmax(0, 1fr) auto auto; gap: 0.2rem 1rem; align-items: center;
  padding: 0.6rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.sending progress { grid-column: 1 / -1; }
.made { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 1.6rem; align-items: start; }
.qr { width: 13rem; height: 13rem; border: 1px solid var(--line); border-radius: 10px; }
.copy input[type="text"] { min-width: 0; font: var(--small) var(--mono); background: var(--code); padding: 0.6rem 0.7rem; }
.filter label.check { display: flex; gap: 0.5rem; align-items: center; padding-bottom: 0.6rem; color: var(--ink); }
input[type="checkbox"] { width: 1.1rem; height: 1.1rem; accent-color: var(--accent); }
@media (max-width: 34rem) { .list :is(th, td) { max-width: 12.5rem; } .made { grid-template-columns: minmax(0, 1fr); }
  .qr { width: 100%; height: auto; max-width: 18rem; margin: 0 auto; } }
`;
