import { allowedTexCommands } from '../../../src/features/documents/formats/maths.ts';
import { startServer, upload } from '../../server.testing.ts';
import type { ServerAttack } from './server-stage.testing.ts';

const megabyte = 1024 ** 2;

/** Attacks by what is packed and built. */
export const packingAttacks: readonly ServerAttack[] = [
  {
    name: 'packs twelve crates at once, of which two fit into the quota',
    wall: 'records',
    mustNotHappen: 'more is kept than the quota allows',
    async play() {
      for (const quota of [{ quotaUserBytes: 10 * megabyte }, { quotaTotalBytes: 10 * megabyte }]) {
        await using server = await startServer({ ...quota, sandbox: 'off' });
        const id = await upload(server, 'large.bin', Buffer.alloc(4 * megabyte, 1));
        const input = { file_ids: [id], shared: true };
        const replies = await Promise.all(Array.from({ length: 12 }, () => server.call('pack_crate', input)));
        const packed = replies.filter(({ failed }) => !failed).length;
        const codes = new Set(replies.map(({ code }) => code));
        if (packed !== 2 || codes.has('internal')) return `${packed} were packed: ${[...codes].join()}`;
      }
      return null;
    },
  },
  {
    name: 'writes formulas that are code to whoever compiles the document',
    wall: 'records',
    mustNotHappen: 'a command that is none of formulas is in a .tex',
    async play({ server }) {
      const documentContent = `$\\input{/etc/passwd}$ $\\immediate\\write18{id}$ $\\csname input\\endcsname x$

$\\directlua{os.execute("id")}$ $a^^5cinput{x}$ $\\def\\alpha{x}$ $\\begin{filecontents}{x}\\end{filecontents}$ $\\beta$
`;
      const reply = await server.call('build_exports_content', { documentContent, formats: ['latex'] });
      if (reply.failed) return reply.text;
      const tex = await (await fetch(reply.data.artifacts[0].downloadUrl)).text();
      const body = tex.slice(tex.indexOf('\\begin{document}'));
      const words = [...body.matchAll(/\\([A-Za-z]+)/g)].map(([, word]) => word!);
      const strange = words.filter((word) => !allowedTexCommands.has(word) && !ownWords.has(word));
      if (!body.includes('\\(\\beta\\)')) return 'a harmless formula was lost';
      return strange.length === 0 && !body.includes('^^') ? null : strange.join();
    },
  },
];

const ownWords = new Set(['begin', 'end', 'textbackslash', 'textquotedbl', 'textsuperscript']);
