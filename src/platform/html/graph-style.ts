/** The look of a graph in a page: boxes, arrows, and the list below. It is a part of the one style sheet. */
export const graphStyle = `.graph { margin: 0; } .graph .scroll { max-height: 44rem; padding: 0.4rem; }
.graph svg { display: block; margin: 0 auto; } .graph svg svg { margin: 0; }
.graph text { font-size: 13px; fill: var(--ink); } .graph text.name { font-weight: 620; }
.graph text.fact, .graph .more text { fill: var(--muted); }
.graph a text { fill: var(--accent); text-decoration: underline; text-underline-offset: 2px; }
.graph a:hover text { text-decoration-thickness: 2px; }
.node rect { fill: var(--surface); stroke: var(--line); stroke-width: 1.2; }
.node.action rect { fill: var(--code); stroke: var(--accent); }
.node.action.broken rect { stroke: var(--danger); }
.node.more rect { fill: none; stroke-dasharray: 4 4; }
.edge { fill: none; stroke: var(--muted); stroke-width: 1.3; opacity: 0.75; } .edge.back { stroke-dasharray: 5 4; }
.arrow { fill: var(--muted); }
.graph details { margin-top: 0.8rem; font-size: var(--small); } .graph ul { padding-left: 1.2rem; margin: 0.4rem 0; }
`;
