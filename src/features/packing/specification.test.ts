import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ada } from '../../core/runs/room.testing.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { makeCall, recordingCalls, refusedCall } from '../code-mode/calls.testing.ts';
import type { GraphEntity } from './entities.ts';
import type { PackRequest } from './pack.ts';
import { graphOf, keep, membersOf, openPacking, type Graph } from './packing.testing.ts';
import { crateSpecificationVersions, type CrateSpecificationVersion } from './specification.ts';

interface Specimen extends Graph {
  readonly version: CrateSpecificationVersion;
  readonly names: ReadonlySet<string>;
  readonly preview: string;
}

const types = (entity: GraphEntity): string[] => [entity['@type']].flat();
const valuesOf = (entity: GraphEntity): unknown[] => Object.values(entity).flat();
const referred = (value: unknown): string[] =>
  [value].flat().flatMap((item) => (isReference(item) ? [item['@id']] : []));

function isReference(value: unknown): value is { '@id': string } {
  return typeof value === 'object' && value !== null && '@id' in value;
}

/** The one form of ISO 8601 that the public validator takes: with an offset, and no other fraction than thousandths. */
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?\+\d\d:\d\d$/;
/** RFC 3986 and, for letters beyond ASCII, RFC 3987. */
const iriReference = /^(?:[A-Za-z0-9\-._~:/@!$&'()*+,;=#]|%[0-9A-F]{2}|[^\p{ASCII}\p{C}\p{Z}])+$/u;

/** All terms that packed crates use and that the context of every version has. */
const commonTerms = new Set(
  'about actionStatus additionalProperty affiliation agent alternateName author conformsTo contentSize creativeWorkStatus dateModified datePublished description encodingFormat endTime error givenName hasPart identifier instrument isBasedOn isPartOf keywords license mentions name object programmingLanguage result softwareRequirements startTime unitText url value version'.split(
    ' ',
  ),
);
const commonTypes = new Set(
  'ActivateAction ComputerLanguage CreateAction CreativeWork Dataset File Organization Person PropertyValue SoftwareApplication SoftwareSourceCode'.split(
    ' ',
  ),
);

/** The context of 1.2 added some, and 1.1 has only what the crate itself defines. */
const laterTerms = ['localPath', 'sha256'];
const laterTypes = ['Profile'];

const hasLaterTerms = ({ version }: Specimen): boolean => version !== '1.1';
const getProfileVersion = ({ version }: Specimen): string => (version === '1.3' ? '0.6' : '0.5');

/** What RO-Crate demands of every crate, each in a few words of ours. */
const crateDemands: Readonly<Record<string, (crate: Specimen) => void>> = {
  'the metadata is at the root, under its name': ({ names }) =>
    assert.ok(names.has('ro-crate-metadata.json')),
  'the context is referred to by its address, and defines what that lacks': ({ version, context }) => {
    const url = `https://w3id.org/ro/crate/${version}/context`;
    const own = { sha256: 'https://w3id.org/ro/terms/workflow-run#sha256' };
    assert.deepEqual(context, version === '1.1' ? [url, own] : url);
  },
  'the graph is flat: values are plain, or references with nothing else in them': ({ all }) => {
    for (const value of all.flatMap(valuesOf)) {
      if (isReference(value)) assert.deepEqual(Object.keys(value), ['@id']);
      else assert.ok(['string', 'number'].includes(typeof value), JSON.stringify(value));
    }
  },
  'lists of one are unpacked': ({ all }) => {
    for (const value of all.flatMap((entity) => Object.values(entity)))
      assert.notEqual(Array.isArray(value) && value.length, 1);
  },
  'every entity has an id and a type': ({ all }) => {
    for (const entity of all) assert.ok(entity['@id'] !== '' && types(entity).length > 0);
  },
  'no two entities have the same id': ({ all }) =>
    assert.equal(new Set(all.map((entity) => entity['@id'])).size, all.length),
  'ids are references in the form of RFC 3986 and 3987': ({ all }) => {
    for (const { '@id': id } of all) assert.match(id, iriReference);
  },
  'terms and types beyond the context do not occur': (crate) => {
    const terms = commonTerms.union(new Set(hasLaterTerms(crate) ? laterTerms : ['sha256']));
    const kinds = commonTypes.union(new Set(hasLaterTerms(crate) ? laterTypes : []));
    for (const entity of crate.all) {
      for (const key of Object.keys(entity)) assert.ok(key.startsWith('@') || terms.has(key), key);
      for (const type of types(entity)) assert.ok(kinds.has(type), type);
    }
  },
  'every entity has a name': ({ all }) => {
    for (const entity of all) assert.ok(entity['name'], entity['@id']);
  },
  'software and languages have a name, a description, an address and one version': ({ ofType }) => {
    for (const software of [...ofType('SoftwareApplication'), ...ofType('ComputerLanguage')]) {
      for (const key of ['name', 'description', 'version']) assert.ok(software[key], key);
      assert.match(software['url'] as string, /^https:\/\//);
      assert.match(software['@id'], /^https:\/\//);
      assert.equal(software['softwareVersion'], undefined);
    }
  },
  'a file that is not in the crate is a File only where that is allowed': (crate) => {
    for (const { '@id': id } of crate.ofType('File')) assert.ok(!id.startsWith('#') || hasLaterTerms(crate));
  },
  'the descriptor is a CreativeWork about the root': ({ find }) => {
    assert.deepEqual(types(find('ro-crate-metadata.json')), ['CreativeWork']);
    assert.deepEqual(find('ro-crate-metadata.json')['about'], { '@id': './' });
  },
  'the descriptor tells the one version of the specification': ({ version, find }) =>
    assert.deepEqual(find('ro-crate-metadata.json')['conformsTo'], {
      '@id': `https://w3id.org/ro/crate/${version}`,
    }),
  'the root is a Dataset with a name, a description and a licence': ({ find }) => {
    assert.ok(types(find('./')).includes('Dataset'));
    for (const key of ['name', 'description', 'license']) assert.ok(find('./')[key], key);
  },
  'the licence is an entity with a name and a description': ({ find }) => {
    const [licence] = referred(find('./')['license']).map(find);
    assert.ok(licence?.['name'] && licence['description']);
  },
  'the root was published at one time, in ISO 8601': ({ find }) =>
    assert.match(find('./')['datePublished'] as string, isoTime),
  'every file with a relative id is in the archive': ({ names, ofType }) => {
    for (const { '@id': id } of ofType('File'))
      if (!id.startsWith('#')) assert.ok(names.has(decodeURIComponent(id)), id);
  },
  'every file with a relative id is a part of the root': ({ find, ofType }) => {
    const parts = new Set(referred(find('./')['hasPart']));
    for (const { '@id': id } of ofType('File')) assert.ok(id.startsWith('#') || parts.has(id), id);
  },
  'every part of the root is described': ({ find }) => {
    for (const id of referred(find('./')['hasPart'])) assert.ok(types(find(id)).includes('File'));
  },
  'the page is at the root, is HTML 5 and no part of the crate': ({ names, preview, find }) => {
    assert.ok(names.has('ro-crate-preview.html'));
    assert.match(preview, /^<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">/);
    assert.ok(!referred(find('./')['hasPart']).includes('ro-crate-preview.html'));
  },
  'what is referred to in the crate is described in it': ({ all, find }) => {
    const ids = all.flatMap(valuesOf).flatMap(referred);
    for (const id of ids) assert.ok(/^http:\/\/schema\.org\/|\/crate\/1\.\d$/.test(id) || find(id), id);
  },
  'every entity can be reached from the root or the descriptor': ({ all, find }) => {
    const reached = new Set(['./', 'ro-crate-metadata.json', 'ro-crate-preview.html']);
    for (const id of reached)
      for (const next of valuesOf(find(id) ?? ({} as GraphEntity)).flatMap(referred)) reached.add(next);
    for (const { '@id': id } of all) assert.ok(reached.has(id), id);
  },
};

/** What Process Run Crate demands besides, and RO-Crate of whoever states a profile. */
const runDemands: Readonly<Record<string, (crate: Specimen) => void>> = {
  'the root conforms to the profile, which is described as a CreativeWork, and as a Profile': (crate) => {
    const id = `https://w3id.org/ro/wfrun/process/${getProfileVersion(crate)}`;
    assert.deepEqual(crate.find('./')['conformsTo'], { '@id': id });
    const kinds = ['CreativeWork', ...(hasLaterTerms(crate) ? ['Profile'] : [])];
    assert.deepEqual([...types(crate.find(id))].sort(), kinds);
  },
  'there are actions, which the root mentions in their order': ({ find, ofType }) => {
    const actions = [...ofType('CreateAction'), ...ofType('ActivateAction')].map((action) => action['@id']);
    assert.deepEqual(referred(find('./')['mentions']).toSorted(), actions.toSorted());
    assert.ok(actions.length > 0);
  },
  'its instrument is described as code or an application, with a version': ({ find, ofType }) => {
    for (const action of ofType('CreateAction')) {
      const [tool] = referred(action['instrument']).map(find);
      assert.ok(types(tool!).includes('SoftwareSourceCode'));
      assert.ok(tool!['name'] && tool!['version']);
    }
  },
  'its agent is a person with a name': ({ find, ofType }) => {
    for (const action of ofType('CreateAction')) {
      const [agent] = referred(action['agent']).map(find);
      assert.deepEqual([types(agent!), typeof agent!['name']], [['Person'], 'string']);
    }
  },
  'its times are in ISO 8601, the end not before the start': ({ ofType }) => {
    for (const action of [...ofType('CreateAction'), ...ofType('ActivateAction')]) {
      const { startTime, endTime } = action as unknown as Record<string, string>;
      for (const time of [startTime!, endTime!]) assert.match(time, isoTime);
      assert.ok(endTime! >= startTime!);
    }
  },
  'its objects and results are files, or works where they are gone': (crate) => {
    for (const { object, result } of crate.ofType('CreateAction'))
      for (const id of [...referred(object), ...referred(result)]) {
        const isGone = id.startsWith('#') && !hasLaterTerms(crate);
        assert.ok(types(crate.find(id)).includes(isGone ? 'CreativeWork' : 'File'), id);
      }
  },
  'its status is one of the addresses of schema.org, as a text up to 0.5': ({ version, ofType }) => {
    for (const { actionStatus } of ofType('CreateAction')) {
      const status = version === '1.3' ? referred(actionStatus)[0] : actionStatus;
      assert.match(status as string, /^http:\/\/schema\.org\/(?:Completed|Failed)ActionStatus$/);
    }
  },
  'an error is told only where it failed': ({ ofType }) => {
    for (const { actionStatus, error } of ofType('CreateAction'))
      assert.equal(error !== undefined, JSON.stringify(actionStatus).includes('FailedActionStatus'));
  },
};

async function specimens() {
  await using stage = await openPacking();
  const { room, pack, zipOf } = stage;
  const [data, lost] = [await keep(room, 'my data.csv', '1'), await keep(room, 'lost.txt', 'x')];
  const good = await room.run({
    language: 'python',
    code: `open('50% größer.txt', 'w').write(open('my data.csv').read()); print(1)`,
    files: [data.id],
  });
  const bad = await room.run({ code: 'rm lost.txt; echo oh >&2; exit 3', files: [lost.id] });
  await using calling = await openPacking(
    {},
    { extensions: [recordingCalls([makeCall(1), refusedCall(2)])] },
  );
  const { execution: caller } = await calling.room.run({ language: 'python', code: 'print(1)' });
  const next = await room.run({ code: 'cat "my data.csv" >copy.txt', files: [data.id] });
  await room.files.remove(ada, lost.id);
  const authors = [
    {
      name: 'Josiah Carberry',
      orcid: 'https://orcid.org/0000-0002-1825-0097',
      affiliation: 'Brown University',
    },
    { name: 'Zoë "Z" <b>', affiliation: 'Brown University' },
  ];
  const said = { title: 'A <title> & more', license: 'Ask me.\nAlways.', keywords: ['one'], authors };
  const clash = {
    license: 'https://w3id.org/ro/wfrun/process/0.6',
    title: '\ud800',
    authors: [authors[1]!, authors[1]!],
  };
  const requests: Record<string, PackRequest> = {
    'a run': { executionIds: [good.execution.id], ...said },
    'a failed run whose input is gone': { executionIds: [bad.execution.id] },
    'a run and a file': { executionIds: [good.execution.id], fileIds: [data.id], license: 'MIT' },
    'a run with odd texts': { executionIds: [good.execution.id], ...clash },
    'several runs': { executionIds: [good.execution.id, bad.execution.id, next.execution.id] },
    files: { fileIds: [data.id], license: 'https://example.org/a%20licence' },
  };
  const found: [what: string, specimen: Specimen][] = [];
  for (const specification of crateSpecificationVersions)
    for (const [what, request] of Object.entries(requests))
      found.push([what, await specimenOf(specification, zipOf(await pack({ ...request, specification })))]);
  for (const specification of crateSpecificationVersions) {
    const packed = await calling.pack({ executionIds: [caller.id], specification });
    found.push(['a run that called tools', await specimenOf(specification, calling.zipOf(packed))]);
  }
  found.push(['a run', await specimenOf('1.1', zipOf(await pack(requests['a run']!)))]);
  return found;
}

async function specimenOf(version: CrateSpecificationVersion, zip: Buffer): Promise<Specimen> {
  const members = await membersOf(zip);
  const preview = members.get('ro-crate-preview.html')!;
  return { version, ...(await graphOf(zip)), names: new Set(members.keys()), preview };
}

/**
 * These are our own readings of the specification. The public validator is a Python program with packages that neither
 * npm nor this suite brings, so it is no part of it: it is run by hand, on crates of a release.
 */
let [demanded, met] = [0, 0];
for (const [what, specimen] of await specimens()) {
  const demands = what === 'files' ? crateDemands : { ...crateDemands, ...runDemands };
  describe(`a crate of ${what}, in RO-Crate ${specimen.version}`, () => {
    for (const [demand, check] of Object.entries(demands)) {
      demanded++;
      it(demand, () => {
        check(specimen);
        met++;
      });
    }
  });
}

it('every crate is what the specification demands, in each version', () => {
  assert.ok(demanded > 500, `${demanded}`);
  assert.equal(met, demanded);
  recordProof('B12:valid-process-run-crate', 'B13:specification-1.1-by-default-others-on-request');
});
