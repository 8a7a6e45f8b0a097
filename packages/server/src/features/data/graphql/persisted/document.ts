import { createHash } from 'node:crypto'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type Answered, component, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

/** Document that clients may name by its hash. */
export const PersistedDocument = component(
  'PersistedDocument',
  Type.Object({
    hash: Type.String({ description: 'SHA-256 of the text, in hexadecimal.' }),
    document: Type.String(),
    createdAt: timestamp,
  }),
)
export type PersistedDocument = Answered<typeof PersistedDocument>

const columns = sql`hash, document, created_at as "createdAt"`

/** Returns the name of a document. */
export function hashDocument(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export async function listDocuments(
  database: Queryable,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly PersistedDocument[]> {
  return await database.many<PersistedDocument>(sql`
    select ${columns} from basalt.graphql_documents
    where hash > ${after}
    order by hash
    limit ${limit}`)
}

export async function findDocument(database: Queryable, hash: string): Promise<string | undefined> {
  const found = await database.maybeOne<{ document: string }>(sql`
    select document from basalt.graphql_documents where hash = ${hash}`)
  return found?.document
}

/** Adds the documents that are not listed yet. @returns the number of added ones */
export async function insertDocuments(database: Queryable, texts: readonly string[]): Promise<number> {
  return await database.count(sql`
    insert into basalt.graphql_documents (hash, document)
    select * from unnest(${texts.map(hashDocument)}::text[], ${texts}::text[])
    on conflict (hash) do nothing`)
}

/** @returns true if the document was listed */
export async function deleteDocument(database: Queryable, hash: string): Promise<boolean> {
  return (await database.count(sql`delete from basalt.graphql_documents where hash = ${hash}`)) > 0
}
