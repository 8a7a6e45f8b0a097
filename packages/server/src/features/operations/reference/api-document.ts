import { createHash } from 'node:crypto'
import type { Catalog } from '../../../database/catalog/model.ts'
import { Lru } from '../../../lib/lru.ts'
import type { DocumentedRoute } from './described-routes.ts'
import type { Audience } from './described-table.ts'
import type { StaticDocument } from './document-parts.ts'
import { addRoutes } from './route-document.ts'
import { describeTables } from './table-document.ts'

/** Serialized document, with its entity tag (RFC 9110 §8.8.3). */
export interface ApiDocument {
  readonly text: string
  readonly etag: string
}

/** Parts of the document that depend on the caller. */
export interface DocumentView {
  /** Catalog with the tables; undefined for a caller that may not know them. */
  readonly catalog: Catalog | undefined
  readonly audience: Audience
  /** Routes of functions that the caller may call. */
  readonly routes: readonly DocumentedRoute[]
}

/** Maximum number of documents for one snapshot of the catalog. */
const documentLimit = 8

/** Snapshot of callers that may not know the tables. */
const noCatalog = {}

/** Creates each document once for a snapshot of the catalog and for the routes of the caller. */
export function createApiDocuments(readStatic: () => StaticDocument, publicBaseUrl: () => string) {
  const perSnapshot = new WeakMap<object, Lru<string, ApiDocument>>()
  // Each load of functions has routes of its own.
  const numbers = new WeakMap<DocumentedRoute, number>()
  let count = 0
  const numberOf = (route: DocumentedRoute) => {
    const known = numbers.get(route)
    if (known !== undefined) return known
    count += 1
    numbers.set(route, count)
    return count
  }
  return {
    documentOf({ catalog, audience, routes }: DocumentView): ApiDocument {
      const documents = perSnapshot.get(catalog ?? noCatalog) ?? new Lru(documentLimit)
      perSnapshot.set(catalog ?? noCatalog, documents)
      const key = `${audience} ${routes.map(numberOf).join(' ')}`
      const known = documents.get(key)
      if (known !== undefined) return known
      const general = readStatic()
      const withTables = catalog === undefined ? general : describeTables(general, catalog, audience)
      const document = routes.length === 0 ? withTables : addRoutes(withTables, routes)
      const sealed = seal({ ...document, servers: [{ url: publicBaseUrl() }] })
      documents.set(key, sealed)
      return sealed
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
