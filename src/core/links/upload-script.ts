/**
 * The script with which a page sends files by tus. Plain text, since its hash has to stand in the policy of the page.
 * Each piece is at most 8 MB; after a failure it asks how much arrived, and tries again for about a minute. It uses no
 * clock. The address is that of the page, or it asks for one (`data-ask`) when files are sent; one that takes several
 * files (`data-most`) makes a place for each, which is remembered until the tab is closed.
 */

// outbound: it is the browser that asks, in the page of an upload

export const uploadScript = `'use strict';
const form = document.querySelector('.sender');
const [drop, input, list, state, send] = ['.drop', 'input[type=file]', 'ul', 'output', '.send'].map((one) => form.querySelector(one));
const most = Number(form.dataset.most);
const pieceBytes = 8 * 1024 * 1024;
const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));
const tell = (size) => {
  if (size < 1024) return size + (size === 1 ? ' byte' : ' bytes');
  const power = Math.min(Math.floor(Math.log2(size) / 10), 4);
  const amount = size / 1024 ** power;
  return (amount >= 100 ? Math.round(amount) : Number(amount.toFixed(1))) + ' ' + ['', 'KB', 'MB', 'GB', 'TB'][power];
};
let chosen = [];
let isSending = false;
const make = (name, text, kind) => {
  const element = document.createElement(name);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const show = () => {
  const waiting = chosen.filter((one) => !one.isDone).length;
  send.disabled = isSending || waiting === 0;
  send.textContent = waiting > 1 ? 'Send ' + waiting + ' files' : 'Send';
  input.disabled = isSending;
};
const remove = (one) => {
  chosen = chosen.filter((other) => other !== one);
  one.row.remove();
  show();
  input.focus();
};
const add = (file) => {
  const one = { file, row: make('li', ''), bar: make('progress', ''), says: make('span', tell(file.size), 'muted'), isDone: false, address: null };
  one.bar.max = Math.max(1, file.size);
  one.bar.value = 0;
  one.bar.setAttribute('aria-label', 'Sent of ' + file.name);
  one.bar.hidden = true;
  const away = make('button', 'Remove', 'quiet small');
  away.type = 'button';
  away.setAttribute('aria-label', 'Remove ' + file.name);
  away.addEventListener('click', () => remove(one));
  one.away = away;
  one.row.append(make('strong', file.name), one.says, away, one.bar);
  list.append(one.row);
  chosen.push(one);
};
const choose = (files) => {
  if (most === 1 && files.length === 1) for (const one of [...chosen]) remove(one);
  const room = most - chosen.length;
  state.value = files.length <= room ? ''
    : most === 1 ? 'One file fits here. Put several into a ZIP, or ask for an address for several.'
    : 'At most ' + most + ' files fit here; the first of them are listed.';
  if (most > 1 || files.length === 1) for (const file of Array.from(files).slice(0, room)) add(file);
  input.value = '';
  show();
};
const request = (address, method, headers, body, progress) => new Promise((resolve, reject) => {
  const sending = new XMLHttpRequest();
  sending.open(method, address);
  for (const [name, value] of Object.entries({ 'Tus-Resumable': '1.0.0', ...headers })) sending.setRequestHeader(name, value);
  sending.onload = () => resolve(sending);
  sending.onerror = () => reject(new Error('The connection was lost.'));
  if (progress) sending.upload.onprogress = progress;
  sending.send(body);
});
const refuse = (answer) => {
  let words = 'The server answered ' + answer.status + '.';
  try { words = JSON.parse(answer.responseText).error; } catch { /* It was no JSON. */ }
  return Object.assign(new Error(words), { isFinal: ![409, 423, 429, 503].includes(answer.status) });
};
const toPath = (url) => new URL(url, location.href).pathname;
let asked = null;
const ask = async () => {
  const body = new URLSearchParams({ token: form.dataset.token, files: chosen.length });
  const answer = await fetch(form.dataset.ask, { method: 'POST', body });
  if (answer.ok) return toPath(answer.url);
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  throw new Error(page.querySelector('main p')?.textContent ?? 'The server answered ' + answer.status + '.');
};
const findAddress = () => form.dataset.ask ? (asked ??= ask().catch((error) => { asked = null; throw error; })) : location.pathname;
const store = {
  get: (key) => { try { return sessionStorage.getItem(key); } catch { return null; } },
  set: (key, value) => { try { sessionStorage.setItem(key, value); } catch { /* It is not remembered then. */ } },
};
const encode = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const askOffset = async (one) => {
  const answer = await request(one.address, 'HEAD', {});
  if (answer.status !== 200) throw Object.assign(new Error('This address has expired or was used.'), { isFinal: true, isGone: answer.status === 404 });
  return { offset: Number(answer.getResponseHeader('Upload-Offset')), isDone: answer.getResponseHeader('Workcrate-File-Id') !== null };
};
const findPlace = async (one) => {
  const address = await findAddress();
  if (most === 1) {
    one.address = address;
    const at = await askOffset(one);
    if (at.isDone && !one.hasBegun) throw Object.assign(new Error('This address was used already.'), { isFinal: true });
    return at;
  }
  const key = [address, one.file.name, one.file.size, one.file.lastModified].join(' ');
  one.address = one.address ?? store.get(key);
  if (one.address !== null) try { return await askOffset(one); } catch (error) { if (!error.isGone) throw error; }
  const answer = await request(address, 'POST', { 'Upload-Length': one.file.size, 'Upload-Metadata': 'filename ' + encode(one.file.name) });
  if (answer.status !== 201) throw refuse(answer);
  one.address = toPath(answer.getResponseHeader('Location'));
  store.set(key, one.address);
  return { offset: 0, isDone: answer.getResponseHeader('Workcrate-File-Id') !== null };
};
const sendPiece = async (one, offset) => {
  const headers = { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': offset, 'Upload-Length': one.file.size };
  const piece = one.file.slice(offset, offset + pieceBytes);
  one.hasBegun = true;
  const answer = await request(one.address, 'PATCH', headers, piece, (event) => { one.bar.value = offset + event.loaded; });
  if (answer.status !== 204) throw refuse(answer);
  return { offset: Number(answer.getResponseHeader('Upload-Offset')), isDone: answer.getResponseHeader('Workcrate-File-Id') !== null, sha256: answer.getResponseHeader('Workcrate-Sha256') };
};
const sendFile = async (one) => {
  one.bar.hidden = false;
  one.away.hidden = true;
  let at = null;
  for (let failures = 0; ;) try {
    at ??= await findPlace(one);
    while (!at.isDone) {
      one.says.textContent = 'sending…';
      at = await sendPiece(one, at.offset);
      failures = 0;
    }
    one.bar.value = one.bar.max;
    one.says.textContent = tell(one.file.size) + ', arrived';
    one.says.className = 'state good';
    one.isDone = true;
    return at;
  } catch (error) {
    if (error.isFinal || ++failures > 7) { one.says.textContent = 'not sent: ' + error.message; one.bar.hidden = true; one.away.hidden = false; throw error; }
    one.says.textContent = error.message + ' Trying again…';
    await pause(500 * 2 ** failures);
    at = await askOffset(one).catch((lost) => { if (lost.isFinal) throw lost; return null; });
  }
};
const sendAll = async () => {
  let [last, failure] = [null, null];
  isSending = true;
  state.value = 'Sending…';
  show();
  for (const one of chosen.filter((other) => !other.isDone)) {
    try { last = await sendFile(one); } catch (error) { failure = error; }
    if (failure && !form.dataset.ask && most === 1) break;
  }
  isSending = false;
  show();
  const done = chosen.filter((one) => one.isDone).length;
  if (failure && most === 1) { state.value = 'Not sent: ' + failure.message; return; }
  if (failure) { state.value = 'Not sent: ' + (chosen.length - done) + ' of ' + chosen.length + ' files. Send again to go on.'; return; }
  if (form.dataset.ask) { location.reload(); return; }
  send.hidden = drop.hidden = most === 1 || done >= most;
  state.value = most === 1 ? 'Sent. You can close this page.' + (last.sha256 ? ' SHA-256: ' + last.sha256 : '')
    : 'Sent: ' + done + (done === 1 ? ' file has' : ' files have') + ' arrived. You can close this page.';
};
input.addEventListener('change', () => choose(input.files));
for (const name of ['dragenter', 'dragover']) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add('over'); });
for (const name of ['dragleave', 'drop']) drop.addEventListener(name, () => drop.classList.remove('over'));
drop.addEventListener('drop', (event) => { event.preventDefault(); if (!isSending) choose(event.dataTransfer.files); });
send.addEventListener('click', sendAll);
addEventListener('beforeunload', (event) => { if (isSending) event.preventDefault(); });
form.hidden = false;
show();
`;
