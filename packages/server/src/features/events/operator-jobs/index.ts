import type { JobQueue } from '../../../job-queue.ts'
import { type HttpRequestDeps, httpRequestJob } from './http-request.ts'
import { type SqlStatementDeps, sqlStatementJob } from './sql-statement.ts'

export type { OperatorSecrets } from './http-request.ts'

export interface OperatorJobsDeps extends HttpRequestDeps {
  readonly queue: JobQueue
  readonly database: SqlStatementDeps
}

/** Defines the types of jobs whose work is in their payload. */
export function defineOperatorJobs({ queue, database, ...http }: OperatorJobsDeps): void {
  queue.define(sqlStatementJob(database))
  queue.define(httpRequestJob(http))
}
