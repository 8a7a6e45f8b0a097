import { defineErrors } from '../../../../lib/errors.ts'

export const importErrorTable = {
  importTooLarge: {
    status: 413,
    message: 'request body too large',
    help: 'The limit of an import is `api.import_max_size_mb`. Send the rows in parts.',
  },
  importRowLimit: {
    status: 400,
    message: (limit: number) => `import row limit exceeded (max ${limit})`,
    help: 'The limit is `api.import_max_rows`. Send the rows in parts.',
  },
  importMediaType: {
    status: 415,
    message: 'the content type must be text/csv, application/json or application/x-ndjson',
    help: 'Use the content type of the rows: a CSV with a header, a JSON array of objects, or one JSON object per line.',
  },
  importEncoding: {
    status: 400,
    message: 'the body is not valid UTF-8',
    help: 'Save the file as UTF-8. A byte order mark is accepted.',
  },
  bodyNotArray: {
    status: 400,
    message: 'invalid JSON body: expected an array of objects',
    help: 'Send the rows as one JSON array, or one JSON object per line as `application/x-ndjson`.',
  },
  importHeader: {
    status: 400,
    message: (problem: string) => `CSV header: ${problem}`,
    help: 'The first line of a CSV names the columns as in the database, each once.',
  },
  tooManyColumnSets: {
    status: 400,
    message: (limit: number) => `the rows have more than ${limit} different sets of columns`,
    help: 'Rows that have values for the same columns are written together. Use the same columns for more rows, with null where a row has no value.',
  },
  importFailed: {
    status: 409,
    message: (failed: number) =>
      `${failed} ${failed === 1 ? 'row was' : 'rows were'} refused and nothing was imported`,
    help: 'In the mode `full` every row must be accepted. `errors` lists the rejected rows with their faults. `mode=partial` imports the others.',
  },
  tooManyRowsRefused: {
    status: 409,
    message: (limit: number) => `more than ${limit} rows were refused and nothing was imported`,
    help: 'The limit is `api.import_max_refused`. `dryRun=true&mode=full` lists the faults of the first 1,000 rows. `on_conflict=skip` skips rows that exist.',
  },
  importNotFound: {
    status: 404,
    message: 'import not found',
    help: 'No import into this collection has this id, another user started it, or it is more than seven days old.',
  },
  importHasEnded: {
    status: 409,
    message: (state: string) => `the import has ended: ${state}`,
    help: 'Only an import that is `running` can be canceled.',
  },
  importLost: {
    status: 503,
    message: 'the server that wrote the import has stopped and nothing was imported',
    help: 'Send the file again.',
  },
  tooManyImports: {
    status: 503,
    message: 'too many imports in flight',
    help: 'A node keeps up to sixteen files that wait to be imported. Try again later.',
  },
  importTimeout: {
    status: 504,
    message: 'the import took too long and nothing was imported',
    help: 'It ran longer than `api.import_timeout`. Send the rows in parts.',
  },
} as const

export const importErrors = defineErrors(importErrorTable)
