import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOpenedInBrowser } from './response.ts';

const page = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';
const navigation = { accept: page, 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };

const people = {
  'a browser on this machine or by HTTPS': navigation,
  'a browser over plain HTTP from elsewhere': { accept: page, 'upgrade-insecure-requests': '1' },
};

const programs = {
  curl: { accept: '*/*' },
  'a program without an Accept header': {},
  'a program that lists HTML among others, as Java does': {
    accept: 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  },
  'a script of a page': { accept: '*/*', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'cors' },
  'a picture of a page': { accept: 'image/avif,image/webp,*/*', 'sec-fetch-dest': 'image' },
  'a frame': { ...navigation, 'sec-fetch-dest': 'iframe' },
  'a browser that goes on with a download': { ...navigation, range: 'bytes=100-' },
  'a browser that has a copy': { ...navigation, 'if-none-match': '"x"' },
};

for (const [who, headers] of Object.entries(people))
  test(`${who} gets a page`, () => {
    assert.equal(isOpenedInBrowser({ method: 'GET', headers }), true);
    assert.equal(isOpenedInBrowser({ method: 'HEAD', headers }), false);
  });

for (const [who, headers] of Object.entries(programs))
  test(`${who} gets bytes`, () => assert.equal(isOpenedInBrowser({ method: 'GET', headers }), false));
