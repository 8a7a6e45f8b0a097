import { defineErrors } from '../../../lib/errors.ts'
import { jobStates } from './job.ts'

export const jobErrorTable = {
  invalidJobId: {
    status: 400,
    message: 'invalid job id format',
    help: 'The id of a job is a UUID.',
  },
  invalidStateFilter: {
    status: 400,
    message: `invalid state filter; must be one of: ${jobStates.join(', ')}`,
    help: 'The parameter `state` names one of the states of a job.',
  },
  invalidJobLimit: {
    status: 400,
    message: 'invalid limit',
    help: 'An integer from 1 on; more than 500 are never listed at once.',
  },
  invalidJobOffset: {
    status: 400,
    message: 'invalid offset',
    help: 'An integer from 0 on.',
  },
  missingJobField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'The member of the body is missing or empty.',
  },
  unknownJobType: {
    status: 400,
    message: (type: string) => `unknown job type "${type}"`,
    help: 'No part of the server does jobs of this type; the documentation of jobs lists them.',
  },
  invalidJobPayload: {
    status: 400,
    message: (problem: string) => `invalid payload: ${problem}`,
    help: 'Jobs of this type need other members in their payload; the message names them.',
  },
  invalidRunAt: {
    status: 400,
    message: 'invalid runAt; expected RFC 3339, such as 2026-01-02T03:04:05Z',
    help: 'A date and time with seconds and a zone.',
  },
  jobNotFound: {
    status: 404,
    message: 'job not found',
    help: 'There is no such job. Finished jobs are removed after `jobs.retention_days`.',
  },
  jobNotFailed: {
    status: 409,
    message: (id: string) => `job ${id} not found or not in failed state`,
    help: 'Only a failed job can be tried again; another request may have done so already.',
  },
  jobNotQueued: {
    status: 409,
    message: (id: string) => `job ${id} not found or not in queued state`,
    help: 'Only a queued job can be canceled; it may have begun in the meantime.',
  },
  jobsDisabled: {
    status: 503,
    message: 'job queue is not enabled',
    help: 'This node was started with `jobs.enabled = false`.',
  },
} as const

export const jobErrors = defineErrors(jobErrorTable)
