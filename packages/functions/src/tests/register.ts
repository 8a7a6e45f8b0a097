import type { Database } from '../../../client/src/tests/database.ts'

// Registration as a project writes it, by the name of the package.
declare module '@basaltdb/functions' {
  interface Register {
    database: Database
  }
}
