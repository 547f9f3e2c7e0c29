/**
 * What the result for a file costs a model, whatever the file's size: tokens of its text.
 *
 *   node bench/tokens.ts
 */
import { countTokens } from '../test/tokens.testing.ts';
import { shareFrom, startProgram, temporaryFolder, uploadTo } from './program.ts';

using folder = temporaryFolder();
await using program = await startProgram({ data: folder.path });
const names = [
  'report.pdf',
  'a name that is long, with spaces and ünïcödé, 日本語.docx',
  'x'.repeat(255),
  '$(id) \'" `x`.txt',
];
const rows = [];
for (const name of names) {
  const id = await uploadTo(program, name, 'x');
  await shareFrom(program, id);
  const tools = {
    request_upload: (await program.call('request_upload', { filename: name })).text,
    share_file: (await program.call('share_file', { file_id: id })).text,
    bundle_files: (await program.call('bundle_files', { file_ids: [id], filename: name })).text,
  };
  for (const [tool, text] of Object.entries(tools))
    rows.push({
      tool,
      name: name.slice(0, 30),
      'tokens (at most 100)': countTokens(text),
      characters: text.length,
    });
}
console.table(rows);
