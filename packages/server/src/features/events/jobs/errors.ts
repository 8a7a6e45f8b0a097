import { defineErrors } from '../../../lib/errors.ts'
import { jobStates } from './job.ts'

export const jobErrorTable = {
  invalidJobId: {
    status: 400,
    message: 'invalid job id format',
    help: 'Send the UUID of a job as its id.',
  },
  invalidStateFilter: {
    status: 400,
    message: `invalid state filter; must be one of: ${jobStates.join(', ')}`,
    help: 'Set the parameter `state` to one of the job states.',
  },
  invalidJobLimit: {
    status: 400,
    message: 'invalid limit',
    help: 'Send an integer of at least 1. One page lists at most 500 jobs.',
  },
  invalidJobOffset: {
    status: 400,
    message: 'invalid offset',
    help: 'Send an integer of at least 0.',
  },
  missingJobField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'A field of the body is missing or empty. The message names it.',
  },
  unknownJobType: {
    status: 400,
    message: (type: string) => `unknown job type "${type}"`,
    help: 'The server has no job type of this name. The jobs guide lists all types.',
  },
  invalidJobPayload: {
    status: 400,
    message: (problem: string) => `invalid payload: ${problem}`,
    help: 'The payload does not fit the job type. The message names the fields.',
  },
  invalidRunAt: {
    status: 400,
    message: 'invalid runAt; expected RFC 3339, such as 2026-01-02T03:04:05Z',
    help: 'Send a date and time with seconds and a time zone.',
  },
  jobNotFound: {
    status: 404,
    message: 'job not found',
    help: 'No job has this id. Finished jobs are removed after `jobs.retention_days`.',
  },
  jobNotFailed: {
    status: 409,
    message: (id: string) => `job ${id} not found or not in failed state`,
    help: 'Only a failed job can be retried. Another request may have retried it already.',
  },
  jobNotQueued: {
    status: 409,
    message: (id: string) => `job ${id} not found or not in queued state`,
    help: 'Only a queued job can be canceled. The job may have started in the meantime.',
  },
  jobsDisabled: {
    status: 503,
    message: 'job queue is not enabled',
    help: 'This node runs with `jobs.enabled = false`. Send the request to another node or enable jobs.',
  },
} as const

export const jobErrors = defineErrors(jobErrorTable)
