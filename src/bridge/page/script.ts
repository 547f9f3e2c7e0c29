/**
 * What the page does: sends the chosen file, or the names, sizes and times of a chosen folder and no content. It is
 * plain text here, since its hash has to stand in the policy of the page.
 */
export const pageScript = `'use strict';
const token = location.pathname.split('/').pop();
const [input, button, state] = ['input', 'button', 'output'].map((name) => document.querySelector(name));
const asked = document.querySelector('code').textContent;
const isFolder = input.hasAttribute('webkitdirectory');
const lines = (files) =>
  Array.from(files, (file) => {
    const path = file.webkitRelativePath.split('/').slice(1).join('/');
    return JSON.stringify({ path, type: 'file', size: file.size, mtime: file.lastModified }) + '\\n';
  });
input.addEventListener('change', () => {
  button.disabled = input.files.length === 0;
  const isOther = !isFolder && input.files.length > 0 && input.files[0].name !== asked;
  state.value = isOther ? 'Asked for was ' + asked + '. Send this one only if you mean to.' : '';
});
button.addEventListener('click', async () => {
  button.disabled = true;
  state.value = 'Sending…';
  try {
    const body = isFolder ? new Blob(lines(input.files)) : input.files[0];
    const answer = await fetch('../uploads/' + token, { method: 'PUT', body, credentials: 'omit' });
    if (!answer.ok) throw new Error((await answer.json()).error);
    input.disabled = true;
    state.value = 'Sent. You can close this page.';
  } catch (error) {
    button.disabled = false;
    state.value = 'Not sent: ' + error.message;
  }
});
`;
