import { defineErrors } from '../../../lib/errors.ts'

export const vectorIndexErrorTable = {
  missingVectorIndexFields: {
    status: 400,
    message: (names: string) => `missing required fields: ${names}`,
    help: 'An index needs `table`, `column`, `method` and `metric`.',
  },
  vectorIndexTableNotFound: {
    status: 400,
    message: (name: string) => `table "${name}" not found`,
    help: 'No table or materialized view of `database.schemas` has this name.',
  },
  unsupportedIndexMethod: {
    status: 400,
    message: (name: string) => `unsupported index method "${name}"; valid: hnsw, ivfflat`,
    help: '`hnsw` is faster to search and slower to build. `ivfflat` should be built when the table has rows.',
  },
  invalidIndexOption: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A member of the body does not fit the method or the column of the index.',
  },
  vectorIndexNotFound: {
    status: 404,
    message: (name: string) => `vector index "${name}" not found`,
    help: 'No index of pgvector has this name in the schema.',
  },
  vectorIndexExists: {
    status: 409,
    message: (name: string) => `index "${name}" already exists`,
    help: 'Choose another `index_name`, or delete the index first.',
  },
  indexBuildInProgress: {
    status: 409,
    message: 'another index build is already in progress',
    help: 'Only one index is built at a time, on all nodes together. Try again later.',
  },
  indexGaveWay: {
    status: 409,
    message: 'the index build gave way to a statement that changes the table; try again',
    help: 'The build waited for a transaction that was about to change the table and would have waited for the build.',
  },
  /** The contents of the table, or the type of the column, forbid the index. */
  indexRefused: {
    status: 400,
    message: (reason: string) => `failed to create index: ${reason}`,
    help: 'PostgreSQL rejected the index. The message has the reason. Nothing remains of it.',
  },
  indexFailed: {
    status: 500,
    message: (reason: string) => `failed to create index: ${reason}`,
    help: 'The build failed. The message has the reason. Nothing remains of it.',
  },
} as const

export const vectorIndexErrors = defineErrors(vectorIndexErrorTable)
