import type { CallerScope } from '../../../../database/caller/caller-scope.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { type ChangeLog, silentChangeLog } from '../../../../database/change-log.ts'
import { type Call, statement } from '../../../../database/connection/message.ts'
import { render, type Sql } from '../../../../database/sql.ts'
import { type CollectionDeps, type Collections, openCollections } from '../collections.ts'
import { noHooks } from '../hooks/write-hooks.ts'
import { getRecord } from '../read/get.ts'
import { listRecords } from '../read/list.ts'
import type { CollectionRequest } from '../request.ts'
import { batchRecords } from '../write/batch.ts'
import { writeAll } from '../write/bulk.ts'
import { createRecord } from '../write/create.ts'
import { deleteRecord } from '../write/delete.ts'
import { updateRecord } from '../write/update.ts'
import { catalogOf, type TableFixture } from './catalog-of.ts'

/** Statement of a request with the values of its parameters `$1`, `$2` and so on. */
export interface Compiled {
  readonly sql: string
  readonly parameters: readonly (string | null)[]
}

/** Tables that the requests in these tests read and write. */
const tables: Readonly<Record<string, TableFixture>> = {
  person: { columns: { id: 'integer', name: 'text' }, primaryKey: ['id'] },
  project: {
    columns: { id: 'integer', name: 'text', owner_id: 'integer?' },
    primaryKey: ['id'],
    references: { owner_id: 'person' },
  },
  task: {
    columns: { id: 'integer', title: 'text', done: 'boolean', due: 'date?', project_id: 'integer' },
    primaryKey: ['id'],
    unique: [['project_id', 'title']],
    references: { project_id: 'project' },
  },
  vote: {
    columns: {
      task_id: 'integer',
      person_id: 'integer',
      points: 'numeric',
      cast_at: 'timestamp with time zone?',
    },
    primaryKey: ['task_id', 'person_id'],
    references: { task_id: 'task', person_id: 'person' },
  },
  note: {
    columns: { id: 'integer', tags: 'text[]', details: 'jsonb', pages: 'int4range?' },
    primaryKey: ['id'],
  },
  draft: { columns: { id: 'integer', body: 'text?' }, primaryKey: ['id'], defaults: ['id'] },
  log: { columns: { at: 'timestamp with time zone', line: 'text' }, primaryKey: [] },
  photo: {
    columns: { id: 'integer', shot_at: 'date', look: 'vector(3)' },
    primaryKey: ['id'],
    indexes: { look: 'hnsw' },
  },
  parcel: {
    columns: { org_id: 'integer', id: 'integer', label: 'text', docs: 'jsonb?' },
    primaryKey: ['org_id', 'id'],
    isOnWorkers: true,
  },
  depot: { columns: { id: 'integer', name: 'text' }, primaryKey: ['id'], isOnWorkers: true },
  crate: {
    columns: { org_id: 'integer', id: 'integer', depot_id: 'integer' },
    primaryKey: ['org_id', 'id'],
    references: { depot_id: 'depot' },
    isOnWorkers: true,
  },
  sketch: { columns: { id: 'integer', look: 'vector' }, primaryKey: ['id'] },
}

/**
 * Returns the only statement of a request such as `GET /collections/task?filter=done = true&sort=-due`. The query is
 * written without percent-encoding.
 *
 * @param body of a create, an update or a batch
 */
export async function compiled(request: string, body?: unknown): Promise<Compiled> {
  const statements = await compiledAll(request, body)
  const [statement] = statements
  if (statement === undefined || statements.length > 1) throw new Error(`${statements.length} statements`)
  return statement
}

/**
 * Returns the statements of a request, in the order in which they run.
 *
 * @param extensions versions by name
 */
export async function compiledAll(
  request: string,
  body?: unknown,
  extensions: Readonly<Record<string, string>> = { vector: '0.8.0' },
): Promise<Compiled[]> {
  return await record(recordingCollections(catalogOf(tables, extensions)), request, body)
}

/** Returns the statement of a write with a listener, which leaves its changes for a capturing call. */
export async function compiledWithListener(request: string, body?: unknown): Promise<Compiled> {
  const call = { statement: statement('select'), values: [] }
  const changes = { ...silentChangeLog, capture: () => ({ call, takesChanges: true }) }
  const [write] = await record(recordingCollections(catalogOf(tables), changes), request, body)
  if (write === undefined) throw new Error('no statement')
  return write
}

async function record(collections: Collections, request: string, body: unknown): Promise<Compiled[]> {
  try {
    await send(collections, request, body)
  } catch (error) {
    if (error instanceof Recorded) return error.calls.map(describeCall)
    throw error
  }
  throw new Error('the request has sent no statement')
}

/** Returns SQL in the form of {@link Compiled}, whatever its line breaks and indentation. */
export function sql(text: TemplateStringsArray): string {
  return normalize(text.raw.join(''))
}

/** Returns the SQL of a fragment in the form of {@link Compiled}. */
export function compiledText(fragment: Sql): string {
  return normalize(render(fragment).text)
}

function send(collections: Collections, request: string, body: unknown): Promise<unknown> {
  const [, method = '', table = '', path = '', query = ''] =
    /^([A-Z]+) \/collections\/(\w+)(?:\/([^?]*))?(?:\?(.*))?$/s.exec(request) ?? []
  const sent: CollectionRequest = {
    caller: { scope, isAdministrator: false, isAbandoned: () => false },
    table,
    id: path,
    query: encodeQuery(query),
    body: body === undefined ? '' : JSON.stringify(body),
  }
  switch (`${method} ${path === '' ? 'collection' : path === 'batch' ? 'batch' : 'record'}`) {
    case 'GET collection':
      return listRecords(collections, sent)
    case 'GET record':
      return getRecord(collections, sent)
    case 'POST collection':
      return createRecord(collections, sent)
    case 'POST batch':
      return batchRecords(collections, sent)
    case 'PATCH collection':
      return writeAll(collections, 'update', sent)
    case 'PATCH record':
      return updateRecord(collections, sent)
    case 'DELETE collection':
      return writeAll(collections, 'delete', sent)
    case 'DELETE record':
      return deleteRecord(collections, sent)
    default:
      throw new Error(`no such request: ${request}`)
  }
}

function encodeQuery(query: string): string {
  return query
    .split(/&(?=\w+=)/)
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      const [name = '', ...value] = parameter.split('=')
      return `${name}=${encodeURIComponent(value.join('='))}`
    })
    .join('&')
}

const scope: CallerScope = {
  kind: 'caller',
  userId: '',
  email: '',
  isEmailVerified: true,
  aal: 'aal1',
  isAnonymous: false,
  sessionId: '',
}

/** Error that ends a request with its first message. */
class Recorded extends Error {
  readonly calls: readonly Call[]

  constructor(calls: readonly Call[]) {
    super('recorded')
    this.calls = calls
  }
}

/** Opens collections on a database that records the first message, and never responds. */
function recordingCollections(catalog: Catalog, changes: ChangeLog = silentChangeLog): Collections {
  const reject = (calls: readonly Call[]) => Promise.reject(new Recorded(calls))
  const deps: Omit<CollectionDeps, 'catalog' | 'database' | 'writesOnce' | 'viewAs' | 'aside' | 'log'> = {
    changes,
    hooks: noHooks,
    searches: {
      config: 'pg_catalog.english',
      version: '',
      settingsOf: () => ({ attributes: [], customRanking: [], synonyms: [], ignoresAccents: false }),
    },
    isAudited: false,
    isDevelopment: false,
    bulkLimit: 1000,
    limits: { maxFacetBuckets: 100, aggregateEnabled: true, maxGroups: 50, rankLimit: 1000 },
    exportLimits: { maxRows: 1000, timeoutMs: 1000, maxExports: 1, silenceMs: 1000 },
  }
  const stubs = {
    catalog: { current: catalog, refresh: async () => false },
    database: { run: (_scope: unknown, calls: readonly Call[]) => reject(calls) },
    writesOnce: {
      run: ({ steps }: { readonly steps: readonly Call[] }) => reject(steps),
      storingFailure: (_write: unknown, work: () => Promise<unknown>) => work(),
    },
  }
  // These requests use no other dependency, and no other member of the stubs.
  return openCollections({ ...deps, ...stubs } as unknown as CollectionDeps)
}

function describeCall({ statement, values }: Call): Compiled {
  return { sql: normalize(statement.text), parameters: values }
}

/** Removes differences in blanks, and the random part of the texts that fail on purpose. */
function normalize(text: string): string {
  return text
    .replaceAll(/'(missing|unexpected count|not merged|changed meanwhile) [\w-]{12} '/g, "'$1 … '")
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([([]) /g, '$1')
    .replaceAll(/ ([)\],])/g, '$1')
    .trim()
}
