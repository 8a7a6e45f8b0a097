import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { holds } from '../../../http/access/permissions.ts'
import { ok, operation } from '../../../http/operation.ts'
import { limitParameter } from '../../../http/requests/filters.ts'
import { listOf } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { type FunctionDescription, type FunctionHost, readFrames } from '../runtime/index.ts'
import { countActivity, FunctionActivity } from './activity.ts'
import { inspectionErrors } from './errors.ts'
import { FunctionError, listFailures } from './failures.ts'
import { LoadedFunction, LoadedFunctions } from './loaded-function.ts'
import { readExcerpt, SourceExcerpt } from './source.ts'

export interface InspectionDeps {
  readonly host: Pick<FunctionHost, 'functions' | 'knownRoutes' | 'isAvailable' | 'rows' | 'failure'>
  readonly database: SystemDatabase
  /** Folder of the functions on this machine. */
  readonly folder: string
}

/** Members that most operations below share. */
const common = { guard: 'admin', permission: 'operations.read', tag: 'functions', method: 'GET' } as const
const path = '/api/admin/functions'

const list = operation({
  ...common,
  id: 'functions.list',
  path,
  summary: 'List the functions that the responding node has loaded',
  description: 'The list is sorted by file and name. A load that has failed leaves the previous functions.',
  success: ok(LoadedFunctions),
  handle({ host: { functions, isAvailable, rows, failure }, folder }: InspectionDeps, { http }) {
    const isBrief = !holds(adminOf(http).role, 'bodies.read')
    const items = functions
      .map(describe)
      .toSorted((a, b) => compare(a.file, b.file) || compare(a.name, b.name))
    return {
      source: rows === undefined ? 'none' : rows.deploy === undefined ? 'folder' : 'deploy',
      deploy: rows?.deploy ?? null,
      isAvailable,
      failure:
        failure === undefined
          ? null
          : {
              failedAt: failure.failedAt,
              deploy: failure.deploy ?? null,
              reason: isBrief ? null : failure.reason,
              frames: isBrief ? [] : readFrames(failure.reason, folder),
            },
      items,
      count: items.length,
    }
  },
})

const activity = operation({
  ...common,
  id: 'functions.activity',
  path: `${path}/activity`,
  summary: 'Count the calls and errors of functions',
  description:
    'Counts the last hour and the last day on all nodes, from the requests, the attempts of jobs and the attempts to handle a change. An error is a status from 500 on, or a failed attempt. Hooks are not counted.',
  success: ok(
    Type.Object({
      items: Type.Array(FunctionActivity),
      isComplete: Type.Boolean({
        description:
          'False if there were more calls than are counted: 20,000 requests, and for each function 2,000 jobs or 5,000 attempts to handle a change.',
      }),
    }),
  ),
  handle: ({ host, database }: InspectionDeps) => countActivity(database, host),
})

const limit = limitParameter(20, 100)

const listErrors = operation({
  ...common,
  id: 'functions.listErrors',
  path: `${path}/errors`,
  summary: 'List the latest errors of functions',
  description:
    'Searches the newest 2,000 errors of the log in the last seven days, as far as they are among its newest 20,000 warnings and errors. The newest is first. The role `viewer` gets neither messages nor stacks.',
  query: Type.Object({
    function: Type.Optional(Type.String({ description: 'Name of the function.' })),
    limit: limit.schema,
  }),
  success: ok(listOf(FunctionError)),
  async handle({ database, folder }: InspectionDeps, { query, http }) {
    const isBrief = !holds(adminOf(http).role, 'bodies.read')
    const filter = { function: query.function, limit: limit.read(query.limit) }
    const items = await listFailures(database, filter, { folder, isBrief })
    return { items, count: items.length }
  },
})

const readSource = operation({
  ...common,
  id: 'functions.source',
  permission: 'owner',
  path: `${path}/source`,
  summary: 'Read the source around a line of a function',
  description:
    'Returns six lines before and after it, from a deploy or from the folder of the responding node. Files have at most 1 MiB.',
  query: Type.Object({
    file: Type.String({ description: 'Path in the folder of the functions.' }),
    line: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    deploy: Type.Optional(
      Type.String({ description: 'Hash of the deploy. Default: the folder of the machine.' }),
    ),
  }),
  success: ok(SourceExcerpt),
  async handle({ database, folder }: InspectionDeps, { query: { file, line, deploy } }) {
    const excerpt = await readExcerpt(database, { file, line, deploy }, folder)
    if (excerpt === undefined) throw inspectionErrors.functionSourceNotFound()
    return excerpt
  },
})

/** Operations that show functions, their calls and their errors. */
export const inspectionOperations = [list, activity, listErrors, readSource]

/** Returns the members of a function that administrators get. */
function describe(described: FunctionDescription): LoadedFunction {
  const members = Object.entries(described).filter(([name]) => name in LoadedFunction.properties)
  // Each kind of function has the required members, and the schema of its others.
  return Object.fromEntries(members) as LoadedFunction
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
