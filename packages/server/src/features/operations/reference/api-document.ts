import { createHash } from 'node:crypto'
import type { Catalog } from '../../../database/catalog/model.ts'
import type { Audience } from './described-table.ts'
import type { StaticDocument } from './document-parts.ts'
import { describeTables } from './table-document.ts'

/** Serialized document, with its entity tag (RFC 9110 §8.8.3). */
export interface ApiDocument {
  readonly text: string
  readonly etag: string
}

/** Creates each document once for a snapshot of the catalog. */
export function createApiDocuments(readStatic: () => StaticDocument, publicBaseUrl: () => string) {
  const perSnapshot = new WeakMap<Catalog, Map<Audience, ApiDocument>>()
  let withoutTables: ApiDocument | undefined
  const servers = () => [{ url: publicBaseUrl() }]
  return {
    /** Returns the document for a client that may not know the tables. */
    withoutTables: (): ApiDocument => (withoutTables ??= seal({ ...readStatic(), servers: servers() })),

    withTables(catalog: Catalog, audience: Audience): ApiDocument {
      const known = perSnapshot.get(catalog) ?? new Map<Audience, ApiDocument>()
      perSnapshot.set(catalog, known)
      const document =
        known.get(audience) ??
        seal({ ...describeTables(readStatic(), catalog, audience), servers: servers() })
      known.set(audience, document)
      return document
    },
  }
}

function seal(document: object): ApiDocument {
  const text = JSON.stringify(document)
  return { text, etag: entityTag(text) }
}

export function entityTag(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url')}"`
}
