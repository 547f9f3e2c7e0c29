import type { Links, Uploads } from '../links/links.ts';
import type { Metrics } from '../metrics.ts';

/** The same room, which counts the links that it makes. */
export function countedLinks(links: Links, { linkMade }: Pick<Metrics, 'linkMade'>): Links {
  return {
    ...links,
    async share(...terms) {
      const shared = await links.share(...terms);
      linkMade('file');
      return shared;
    },
    async bundle(...terms) {
      const shared = await links.bundle(...terms);
      linkMade('bundle');
      return shared;
    },
    async shareElsewhere(...terms) {
      const shared = await links.shareElsewhere(...terms);
      linkMade('elsewhere');
      return shared;
    },
  };
}

/** The same for rights to send. */
export function countedUploads(uploads: Uploads, { linkMade }: Pick<Metrics, 'linkMade'>): Uploads {
  return {
    ...uploads,
    async request(...terms) {
      const requested = await uploads.request(...terms);
      linkMade('upload');
      return requested;
    },
  };
}
