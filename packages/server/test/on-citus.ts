import { expect } from 'vitest'

/** Files of `src` whose tests also run on distributed tables, as the project `citus`. */
export const filesOnCitus = [
  'features/data/collections/tests/{aggregates,bulk,cursor,expand,export,facets,filter,list,record,related-sort,row-level-security,search,types,upsert}',
]

/** True in the project `citus`, where the tables of a test are on workers. */
export const isOnCitus = process.env.BASALT_TEST_CITUS === 'true'

/** Tests that expect what the guide excludes for distributed tables, with the reason. */
const excluded: Readonly<Record<string, string>> = {
  'paging covers a table without a key': 'a cursor needs a key',
  'paging covers partitions without a key': 'a cursor needs a key',
  'paging covers a table without columns': 'a cursor needs a key',
  'paging concatenates to the whole sorted list, whatever the rows and the sort':
    'composite types cannot be sorted by',
  'sort keeps the stored order of a table without a primary key': 'workers have no common order of rows',
  "album.secret = 's' is rejected where the caller may not read":
    'a table that Citus creates anew loses revoked privileges',
  'return the rows of their owner, or of the caller with security_invoker':
    'views show the rows of their caller',
  'reports a missing value': 'the message names the shard of a table on the coordinator',
  'exports that fail time out without a row': 'a server with that limit may not start in time there',
  'write by filter with listeners changes the matching records that the caller may change':
    'workers return the rows of one statement in any order',
  'upsert with listeners creates once for twenty concurrent requests on two nodes, and updates in the others':
    'a request is rejected with 409 after four attempts',
  'upsert with listeners in twenty concurrent batches on two nodes creates once':
    'a batch is rejected with 409 after four attempts',
  'grants never cover the tables of the server itself': 'callers read the table of the probe',
}

let skip: ((reason: string) => never) | undefined

/** Skips a test that is excluded, and keeps the way to skip the rest of any other. */
export function beginOnCitus(skipTest: (reason: string) => never): void {
  skip = skipTest
  const name = (expect.getState().currentTestName ?? '').replaceAll(' > ', ' ')
  for (const [end, reason] of Object.entries(excluded)) if (name.endsWith(end)) skipTest(reason)
}

/** Skips the rest of a test whose request is rejected for distributed tables: the contract is "right, or rejected with the reason". */
export function skipWhenUnsupported(status: number, text: string): void {
  if (isOnCitus && status === 400 && text.includes('"error":"unsupported_on_distributed_table"'))
    skip?.(`rejected: ${JSON.parse(text).message}`)
}
