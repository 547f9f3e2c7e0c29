/** Artifacts: what runs left in /artifacts, with previews, and a link to a copy of each. */
import type { Context, Hono } from 'hono';
import { WorkcrateError } from '../../platform/errors.ts';
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { describeMediaType } from '../../core/links/link-page.ts';
import { collectBytes } from '../../platform/streams.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { copyScript } from './frame.ts';
import { answerArtifactContent, describeArtifact } from './content.ts';
import type { LibraryRooms } from './library-rooms.ts';
import { renderTabs } from './library-tabs.ts';
import { type Visitor, toOwnPath, type Routing } from './routing.ts';
import { readShareTerms, renderMadeLink, renderShareForm } from './share.ts';
import type { ToolAnswers } from './tool-answers.ts';

/** Where the page of an artifact is. A name may have any characters but slashes. */
const toArtifactPath = (name: string): string => `/library/artifact?name=${encodeURIComponent(name)}`;

type ArtifactList = ToolAnswers['list_artifacts'];

const renderArtifacts = ({ artifacts, total, next }: ArtifactList): Html =>
  html`${renderTabs('/library/artifacts')}
    <h1>Artifacts</h1>
    ${
      artifacts.length === 0
        ? html`<p class="muted">
            ${total === 0 ? 'Runs have left nothing in /artifacts.' : 'There are no more.'}
          </p>`
        : html`<p class="muted">What runs left in /artifacts, by name. The next run may change it.</p>
            <ul class="files">
              ${artifacts.map((name) => html`<li><a href="${toArtifactPath(name)}">${name}</a></li>`)}
            </ul>`
    }
    ${next === null ? nothing : html`<p><a rel="next" href="?after=${encodeURIComponent(next)}">More artifacts</a></p>`}`;

interface ShownArtifact {
  readonly name: string;
  readonly size: number;
  readonly preview: Html;
  readonly token: string;
  readonly maxTtl: number;
}

function renderArtifact({ name, size, preview, token, maxTtl }: ShownArtifact): Html {
  const { mediaType } = describeArtifact(name, size);
  return html`<p><a href="/library/artifacts">All artifacts</a></p>
    <section class="card">
      <h1>${name}</h1>
      <p class="facts">
        <span>${describeMediaType(mediaType)}</span>
        <span>${formatBytes(size)}</span>
        <span>in /artifacts, until a run changes it</span>
      </p>
      <div class="actions">
        <a class="button" href="${toContentPath(name)}&amp;download=1" download>Download</a>
      </div>
    </section>
    <section aria-labelledby="share">
      <h2 id="share">Share</h2>
      <p class="muted">The link leads to a copy as it is now.</p>
      ${renderShareForm({ action: '/library/artifact/share', token, fields: { name }, maxTtl })}
    </section>
    <section class="preview" aria-labelledby="preview">
      <h2 id="preview">Preview</h2>
      ${preview}
    </section>`;
}

const toContentPath = (name: string): string => `/library/artifact/content?name=${encodeURIComponent(name)}`;

const artifactsOnPage = 200;

export function addArtifactPages(
  routes: Hono,
  { tools, show, change, showOnce, visit, fail }: Routing,
  { artifacts, previews, noted, maxTtl }: LibraryRooms,
): void {
  /** The artifacts of a visitor whose key is good for them, with a line of the audit log for each use. */
  async function openFor(visitor: Visitor): Promise<Pick<LibraryRooms['artifacts'], 'use'>> {
    if (!(await tools.has(visitor, 'get_artifact')))
      throw new WorkcrateError('forbidden', 'Your key is not good for artifacts.', {
        details: { scope: 'artifacts' },
      });
    const { user } = visitor.caller;
    return {
      use: (caller, wanted, act) =>
        noted({ operation: 'get_artifact', user, subject: wanted.name }, (tell) =>
          artifacts.use(caller, wanted, (artifact) => {
            tell({ size: artifact.size, page: true });
            return act(artifact);
          }),
        ),
    };
  }

  const getName = ({ req }: Context): string => req.query('name') ?? '';

  routes.get(
    '/library/artifacts',
    show('/library', 'Artifacts', async (visitor, _token, { req }) => {
      const { after = '' } = req.query();
      const wanted = { limit: artifactsOnPage, ...(after !== '' && { after }) };
      return renderArtifacts(await tools.call(visitor, 'list_artifacts', wanted));
    }),
  );
  routes.get(
    '/library/artifact',
    show('/library', 'Artifact', async (visitor, token, context) => {
      const [name, opened] = [getName(context), await openFor(visitor)];
      // It is looked at while it is open: a run may replace it at any time.
      return opened.use(visitor.caller, { name, delivery: 'resource' }, async (artifact) => {
        const { size } = artifact;
        const readStart = (limit: number) => collectBytes(artifact.bytes(), { limit, tooLong: 'truncate' });
        const preview = await previews.render({
          ...describeArtifact(name, size),
          url: toContentPath(name),
          readStart,
        });
        return renderArtifact({ name, size, preview, token, maxTtl });
      });
    }),
  );
  routes.get('/library/artifact/content', async (context) => {
    try {
      const { caller, ...visitor } = visit(context);
      const opened = await openFor({ ...visitor, caller });
      return await answerArtifactContent(context, { artifacts: opened, caller, name: getName(context) });
    } catch (cause) {
      return fail('/library', cause);
    }
  });
  routes.post(
    '/library/artifact/share',
    showOnce(
      '/library',
      'Link',
      async (visitor, form, token) => {
        const terms = readShareTerms(form);
        const link = await tools.call(visitor, 'get_artifact', { name: form.get('name'), ...terms });
        const back = toArtifactPath(link.filename);
        return renderMadeLink({ link, isSingleUse: terms.single_use, back, token });
      },
      copyScript,
    ),
  );
  routes.post(
    '/library/artifact',
    change('/library', async (visitor, form) =>
      toOwnPath((await tools.call(visitor, 'get_artifact', { name: form.get('name') })).downloadUrl),
    ),
  );
}
