import { endRecord } from '../ladder/listing-text.ts';

// outbound: it is the browser that asks, in the page of an upload

/**
 * What the page does: sends the chosen file, or the names, sizes and times of a chosen folder and no content. It is
 * plain text here, since its hash has to stand in the policy of the page. Browsers choose no empty folder, so that
 * there is a button for it. The project's own folder may have any name.
 */
export const pageScript = `'use strict';
const token = location.pathname.split('/').pop();
const [input, state] = ['input', 'output'].map((name) => document.querySelector(name));
const [send, empty] = document.querySelectorAll('button');
const asked = document.querySelector('code').textContent.normalize('NFC');
const isFolder = input.hasAttribute('webkitdirectory');
const lines = (files) => [
  ...Array.from(files, (file) => {
    const path = file.webkitRelativePath.split('/').slice(1).join('/');
    return JSON.stringify({ path, type: 'file', size: file.size, mtime: file.lastModified }) + '\\n';
  }),
  '${endRecord}\\n',
];
const isOther = ([first]) => {
  if (first === undefined || (isFolder && asked === 'project')) return false;
  const name = isFolder ? first.webkitRelativePath.split('/')[0] : first.name;
  return name.normalize('NFC') !== asked;
};
const ready = () => {
  send.disabled = input.files.length === 0;
  if (empty) empty.disabled = input.files.length > 0;
};
const put = async (body) => {
  send.disabled = true;
  if (empty) empty.disabled = true;
  state.value = 'Sending…';
  try {
    const answer = await fetch('../uploads/' + token, { method: 'PUT', body, credentials: 'omit' });
    if (!answer.ok) throw new Error((await answer.json()).error);
    input.disabled = true;
    state.value = 'Sent. You can close this page.';
  } catch (error) {
    ready();
    state.value = 'Not sent: ' + error.message;
  }
};
input.addEventListener('change', () => {
  ready();
  state.value = isOther(input.files) ? 'Asked for was ' + asked + '. Send this one only if you mean to.' : '';
});
send.addEventListener('click', () => put(isFolder ? new Blob(lines(input.files)) : input.files[0]));
if (empty) empty.addEventListener('click', () => put(new Blob(lines([]))));
`;
