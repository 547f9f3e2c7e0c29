/**
 * The door of validation: judges a crate by the rules of RO-Crate 1.1 to 1.3 and of the profiles for runs that it states,
 * or that are asked for. It reads the metadata and the list of files, and nothing from a network. It repairs nothing, and
 * does not decide who may see a crate.
 */
import { startTimeSlices } from '../../platform/concurrency/yield.ts';
import { isWorkcrateError } from '../../platform/errors.ts';
import type { CrateLocation } from '../crates/crate.ts';
import { missingMark, parseRoCrateVersion } from '../crates/metadata/metadata.ts';
import type { CrateContainer } from '../crates/sources/sources.ts';
import { toKnownVersion, type CrateVersion } from './context.ts';
import { gatherPayload, noPayload } from './payload.ts';
import { includedProfiles, profileAddresses, type ValidationProfile } from './profiles.ts';
import type { CrateView, CrateRule, RuleLevel, RuleProfile, Violation } from './rule.ts';
import { quoteText, toValueText } from './rule.ts';
import { contextualRules } from './contextual-rules.ts';
import { dataRules } from './data-rules.ts';
import { documentRules } from './document-rules.ts';
import { entityRules } from './entity-rules.ts';
import { processRules } from './process-rules.ts';
import { provenanceRules } from './provenance-rules.ts';
import { listStatedVersions, rootRules } from './root-rules.ts';
import { workflowRules, workflowRunRules } from './workflow-rules.ts';
import { viewDocument, type DocumentView } from './view.ts';

export { validationProfiles, type ValidationProfile } from './profiles.ts';
export { describeCrateValidation, toValidationAnswer } from './report.ts';

/** One entity that breaks one rule. */
export interface CrateFinding extends Violation {
  readonly rule: string;
  readonly level: RuleLevel;
  readonly profile: RuleProfile;
  readonly text: string;
  readonly remedy: string;
}

/** Every rule that is broken, how often, and the first entities that break it. */
export interface BrokenRule extends Omit<CrateFinding, 'entity' | 'detail'> {
  readonly count: number;
  readonly violations: readonly Violation[];
}

export interface CrateValidation {
  /** The version of RO-Crate whose rules were applied. */
  readonly version: CrateVersion;
  readonly profiles: readonly RuleProfile[];
  readonly isAttached: boolean;
  /** MUST before SHOULD, otherwise in the order of the rules. */
  readonly broken: readonly BrokenRule[];
  /** Sentences about what was not checked, and about files that the crate describes and does not have. */
  readonly notes: readonly string[];
}

export interface ValidationRequest {
  readonly container: CrateContainer;
  readonly place: Pick<CrateLocation, 'kind' | 'object'>;
  readonly maxMetadata: number;
  readonly profile: ValidationProfile | null;
  readonly signal: AbortSignal;
}

/** All rules, of every version and profile. */
export const validationRules: readonly CrateRule[] = [
  ...documentRules,
  ...entityRules,
  ...rootRules,
  ...dataRules,
  ...contextualRules,
  ...processRules,
  ...workflowRules,
  ...workflowRunRules,
  ...provenanceRules,
];

/** What makes a document no JSON is a finding too, and the only one. */
const jsonRule: Omit<BrokenRule, 'count' | 'violations'> = {
  rule: 'metadata-json',
  level: 'MUST',
  profile: 'ro-crate',
  text: 'The metadata MUST be a JSON document.',
  remedy: 'Correct the file, or write it again with a program that makes JSON.',
};

export async function validateCrate(request: ValidationRequest): Promise<CrateValidation> {
  const { container, place, profile, signal } = request;
  const isDetached = place.kind === 'detached';
  const bytes = await container.metadata(request.maxMetadata, signal);
  let document: DocumentView;
  try {
    document = viewDocument(bytes);
  } catch (error) {
    if (!isWorkcrateError(error, 'metadata_invalid')) throw error;
    const violations = [{ entity: null, detail: error.message }];
    const version = profile === null ? '1.1' : (toVersionOfProfile(profile) ?? '1.1');
    return {
      version,
      profiles: ['ro-crate'],
      isAttached: !isDetached,
      broken: [{ ...jsonRule, count: 1, violations }],
      notes: [],
    };
  }
  const plan = planValidation(document, profile);
  const isCurrentName = isDetached || (await container.find('ro-crate-metadata.json', signal)) !== null;
  const crate: CrateView = {
    ...document,
    version: plan.version,
    demanded: plan.demanded,
    isAttached: !isDetached,
    metadataName: isDetached
      ? place.object.slice(place.object.lastIndexOf('/') + 1)
      : isCurrentName
        ? 'ro-crate-metadata.json'
        : 'ro-crate-metadata.jsonld',
    payload: isDetached
      ? noPayload
      : await gatherPayload(document, container, { hidesDotFiles: place.kind === 'folder', signal }),
  };
  const { version, profiles } = plan;
  const broken = await applyRules(crate, profiles, signal);
  const notes = [...plan.notes, ...listContextNotes(crate), ...listMissingFileNotes(crate)];
  return { version, profiles, isAttached: !isDetached, broken, notes };
}

interface ValidationPlan {
  readonly version: CrateVersion;
  readonly profiles: readonly RuleProfile[];
  readonly demanded: readonly RuleProfile[];
  readonly notes: readonly string[];
}

const toVersionOfProfile = (profile: ValidationProfile): CrateVersion | null =>
  profile.startsWith('ro-crate-') ? (profile.slice('ro-crate-'.length) as CrateVersion) : null;

/** By which rules to judge: those asked for, else what the crate states. */
function planValidation(document: DocumentView, asked: ValidationProfile | null): ValidationPlan {
  const forced = asked === null ? null : toVersionOfProfile(asked);
  const [stated] = [
    ...listStatedVersions(document),
    ...document.context.addresses.flatMap((one) => parseRoCrateVersion(one) ?? []),
  ];
  const version = forced ?? (stated === undefined ? null : toKnownVersion(stated)) ?? '1.1';
  const notes = forced === null ? listVersionNotes(stated, version) : [];
  const { known, unknown } = listStatedProfiles(document);
  const demanded = asked === null ? known : forced === null ? [asked as RuleProfile] : [];
  return {
    version,
    demanded,
    profiles: [...new Set<RuleProfile>(['ro-crate', ...demanded.flatMap((one) => includedProfiles[one])])],
    notes: asked === null ? [...notes, ...describeUnknownProfiles(unknown)] : notes,
  };
}

function listVersionNotes(stated: string | undefined, version: CrateVersion): string[] {
  if (stated === undefined)
    return [`The crate states no version of RO-Crate, so it was checked as ${version}.`];
  return stated === version ? [] : [`The crate states RO-Crate ${stated}, and was checked as ${version}.`];
}

/** Profiles were stated on the descriptor up to 1.1, and are stated on the root. */
function listStatedProfiles(document: DocumentView) {
  const addresses = [document.root, document.descriptor].flatMap((entity) =>
    entity === null ? [] : document.valuesOf(entity, 'conformsTo').map(toValueText),
  );
  const [known, unknown] = [new Set<keyof typeof profileAddresses>(), new Set<string>()];
  for (const address of addresses) {
    const name = profileNames.find((one) => address.startsWith(profileAddresses[one]));
    if (name !== undefined) known.add(name);
    else if (address !== '' && parseRoCrateVersion(address) === null) unknown.add(address);
  }
  return { known: [...known], unknown: [...unknown] };
}

const profileNames = Object.keys(profileAddresses) as (keyof typeof profileAddresses)[];
const maxNamedProfiles = 5;

function describeUnknownProfiles(addresses: readonly string[]): string[] {
  if (addresses.length === 0) return [];
  const named = addresses.slice(0, maxNamedProfiles).map((one) => quoteText(one));
  const more = addresses.length - named.length;
  return [`Not checked: the rules of ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`];
}

function listContextNotes({ context }: CrateView): string[] {
  if (context.unknown.length === 0) return [];
  const named = context.unknown.slice(0, maxNamedProfiles).map((one) => quoteText(one));
  return [`Not checked: whether terms are defined, since the context ${named.join(', ')} is not known here.`];
}

const maxMissingFilesNamed = 5;
const maxReasons = 20;

/** No rule is broken by it, but whoever reads that a crate is valid should know. */
function listMissingFileNotes(crate: CrateView): string[] {
  const groups = new Map<string, string[]>();
  for (const entity of crate.entities) {
    const status = crate.valuesOf(entity, 'creativeWorkStatus').map(toValueText).find(saysMissing);
    if (status === undefined) continue;
    const reason = status.slice(missingMark.length);
    const name = crate.valuesOf(entity, 'alternateName').map(toValueText)[0] ?? entity.id ?? '';
    const names = groups.get(reason) ?? [];
    names.push(name);
    groups.set(reason, names);
  }
  const notes = [...groups].slice(0, maxReasons).map(([reason, names]) => {
    const few = names.slice(0, maxMissingFilesNamed).map(quoteText).join(', ');
    const more =
      names.length > maxMissingFilesNamed ? ` and ${names.length - maxMissingFilesNamed} more` : '';
    return `Described, but not in the crate: ${few}${more}. The crate says why: ${quoteText(reason)}.`;
  });
  const rest = groups.size - maxReasons;
  return rest > 0 ? [...notes, `More files are not in the crate, for ${rest} other reasons.`] : notes;
}

const saysMissing = (text: string): boolean => text.startsWith(missingMark);

/** How many entities are named for each rule. */
const maxViolationsPerRule = 100;

async function applyRules(
  crate: CrateView,
  profiles: readonly RuleProfile[],
  signal: AbortSignal,
): Promise<BrokenRule[]> {
  const slices = startTimeSlices(signal);
  const broken: BrokenRule[] = [];
  for (const { find, id: rule, level, profile, text, remedy, versions } of validationRules) {
    if (!versions.includes(crate.version) || !profiles.includes(profile)) continue;
    const violations: Violation[] = [];
    let count = 0;
    for (const violation of find(crate)) if (++count <= maxViolationsPerRule) violations.push(violation);
    if (count > 0) broken.push({ rule, level, profile, text, remedy, count, violations });
    if (slices.isOver()) await slices.next();
  }
  const isMust = ({ level }: BrokenRule): boolean => level === 'MUST';
  return [...broken.filter(isMust), ...broken.filter((one) => !isMust(one))];
}
