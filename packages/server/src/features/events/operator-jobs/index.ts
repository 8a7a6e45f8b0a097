import type { JobQueue } from '../../../job-queue.ts'
import { type SqlStatementDeps, sqlStatementJob } from './sql-statement.ts'

export interface OperatorJobsDeps {
  readonly queue: JobQueue
  readonly database: SqlStatementDeps
}

/** Defines the types of jobs whose work is in their payload. */
export function defineOperatorJobs({ queue, database }: OperatorJobsDeps): void {
  queue.define(sqlStatementJob(database))
}
