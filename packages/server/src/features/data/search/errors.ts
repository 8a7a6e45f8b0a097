import { defineErrors } from '../../../lib/errors.ts'

export const searchErrorTable = {
  invalidSearchSettings: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The settings name an unsuitable column, a column twice, or an unknown weight or order. Weights are `high`, `medium`, `low` and `lowest`, orders `asc` and `desc`.',
  },
  invalidSynonyms: {
    status: 400,
    message: (problem: string) => problem,
    help: 'A group has 2 to 8 terms of at most 128 characters, and a term occurs only once. `{"groups": []}` removes all synonyms.',
  },
  searchIndexUnsupported: {
    status: 400,
    message: (problem: string) => `no search index can be made: ${problem}`,
    help: 'Tables, partitioned tables and materialized views with text columns can have search indexes.',
  },
  searchIndexBuildInProgress: {
    status: 409,
    message: 'another index build is already in progress',
    help: 'A node or a command is building or dropping the search indexes of this collection. `GET /api/admin/search` shows the progress.',
  },
  searchIndexGaveWay: {
    status: 409,
    message: 'the index build gave way to a statement that changes the table; try again',
    help: 'Another session was about to change the table, and the build would have kept it waiting. Builds started by the server are repeated.',
  },
  searchIndexFailed: {
    status: 500,
    message: 'failed to create index',
    help: '`data.reason` has the error of PostgreSQL. `GET /api/admin/search` keeps the reason.',
  },
} as const

export const searchErrors = defineErrors(searchErrorTable)
