import { noContent, ok, operation } from '../../../../http/operation.ts'
import { limitParameter } from '../../../../http/requests/filters.ts'
import { checkedByHandler, refusedWith } from '../../../../http/schemas.ts'
import { isObject } from '../../../../lib/json.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAdminAction } from '../../../operations/audit/index.ts'
import { graphqlErrors } from '../errors.ts'
import type { GraphqlDeps } from '../graphql.ts'
import {
  deleteDocument,
  hashDocument,
  insertDocuments,
  listDocuments,
  PersistedDocument,
} from './document.ts'

/** Part of every description below. */
const common = { guard: 'admin', permission: 'content.write', tag: 'graphql' } as const
const collection = '/api/admin/graphql/documents'
const hashForm = /^[0-9a-f]{64}$/
const hash = Type.String({
  pattern: hashForm.source,
  description: 'SHA-256 of the document, in hexadecimal.',
})

/** Documents of one request. */
const documentLimit = 5000
/** Bytes of a manifest. */
const manifestBytes = 8 * 1024 * 1024

const limit = limitParameter(100, 500)

const list = operation({
  ...common,
  id: 'graphql.listDocuments',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List persisted documents',
  query: Type.Object({
    limit: limit.schema,
    cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before.' })),
  }),
  success: ok(
    Type.Object({
      items: Type.Array(PersistedDocument),
      nextCursor: Type.Optional(Type.String({ description: 'Missing on the last page.' })),
    }),
  ),
  async handle({ database }: GraphqlDeps, { query: { limit: asked, cursor: after = '' } }) {
    const most = limit.read(asked)
    const found = await listDocuments(database.system, { after, limit: most + 1 })
    const items = found.slice(0, most)
    return { items, nextCursor: found.length > most ? items.at(-1)?.hash : undefined }
  },
})

const add = operation({
  ...common,
  id: 'graphql.addDocuments',
  method: 'POST',
  path: collection,
  summary: 'Add persisted documents',
  description:
    'Accepts the manifests that code generators write: an object of texts by hash, or an Apollo manifest with `operations`. Listed documents stay as they are. All nodes accept the new ones within a second.',
  bodyLimit: manifestBytes,
  body: Type.Object(
    {
      operations: Type.Optional(
        Type.Array(Type.Object({ id: Type.String(), body: Type.String() }, { additionalProperties: true }), {
          description: 'Documents of an Apollo manifest, with their hash as `id`.',
        }),
      ),
    },
    { additionalProperties: true, description: 'Texts by hash, or an Apollo manifest.' },
  ),
  success: ok(
    Type.Object({
      added: Type.Integer({ description: 'Documents that were not listed before.' }),
      total: Type.Integer({ description: 'Documents of the manifest.' }),
    }),
  ),
  async handle({ database }: GraphqlDeps, { body, origin }) {
    const documents = readManifest(body)
    const { parseDocument } = await import('../parse.ts')
    for (const [name, text] of documents) requireDocument(parseDocument, name, text)
    return await database.system.transaction(async (transaction) => {
      const added = await insertDocuments(transaction, [...documents.values()])
      await recordAdminAction(transaction, 'graphql.add_documents', String(added), origin, {
        total: documents.size,
      })
      return { added, total: documents.size }
    })
  },
})

const remove = operation({
  ...common,
  id: 'graphql.deleteDocument',
  method: 'DELETE',
  path: `${collection}/:hash`,
  summary: 'Delete a persisted document',
  params: Type.Object({
    hash: refusedWith({ invalid: graphqlErrors.documentNotListed }, checkedByHandler({}, hash)),
  }),
  success: noContent,
  async handle({ database }: GraphqlDeps, { params, origin }) {
    await database.system.transaction(async (transaction) => {
      if (!(await deleteDocument(transaction, params.hash))) throw graphqlErrors.documentNotListed()
      await recordAdminAction(transaction, 'graphql.delete_document', params.hash, origin)
    })
  },
})

export const documentOperations = [list, add, remove]

/** @throws AppError invalid_document_manifest */
function readManifest(body: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const { operations, format: _format, version: _version, ...texts } = body
  const named = Array.isArray(operations)
    ? operations.map((each: { readonly id: string; readonly body: string }) => [each.id, each.body] as const)
    : Object.entries(isObject(body) ? texts : {})
  if (named.length === 0) throw graphqlErrors.invalidDocumentManifest('expected documents by their hash')
  if (named.length > documentLimit) {
    throw graphqlErrors.invalidDocumentManifest(`expected at most ${documentLimit} documents`)
  }
  const documents = new Map<string, string>()
  for (const [name, text] of named) {
    const problem = describeMember(name, text)
    if (problem !== undefined) throw graphqlErrors.invalidDocumentManifest(`${name}: ${problem}`)
    documents.set(name, text as string)
  }
  return documents
}

function describeMember(name: string, text: unknown): string | undefined {
  if (typeof text !== 'string') return 'expected the text of a document'
  const sent = name.replace(/^sha256:/, '')
  if (!hashForm.test(sent)) {
    return "expected the SHA-256 of the document, in hexadecimal; generators write it with hashAlgorithm: 'sha256' (graphql-codegen) or algorithm: 'SHA256' (Relay)"
  }
  // A document under the hash of another one would run in its place.
  if (hashDocument(text) !== sent) return 'the document has another SHA-256'
  // PostgreSQL stores no such text, and a comment may have it.
  return text.includes('\0') ? 'expected text without the character U+0000' : undefined
}

/** @throws AppError invalid_document_manifest */
function requireDocument(parse: (text: string) => unknown, name: string, text: string): void {
  try {
    parse(text)
  } catch (error) {
    const problem = error instanceof Error ? error.message : 'expected a document'
    throw graphqlErrors.invalidDocumentManifest(`${name}: ${problem}`)
  }
}
