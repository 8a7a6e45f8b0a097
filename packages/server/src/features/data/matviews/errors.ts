import { defineErrors } from '../../../lib/errors.ts'

export const matviewErrorTable = {
  invalidMatviewId: {
    status: 400,
    message: 'invalid matview id format',
    help: 'The id of a registration is a UUID.',
  },
  missingMatviewField: {
    status: 400,
    message: (field: string) => `${field} is required`,
    help: 'The member of the body is missing or empty.',
  },
  invalidRefreshMode: {
    status: 400,
    message: "refreshMode must be 'standard' or 'concurrent'",
    help: '`standard` blocks readers while it runs. `concurrent` does not, and needs a unique index.',
  },
  invalidIdentifier: {
    status: 400,
    message: (name: string) => `invalid identifier: "${name}"`,
    help: 'Names of schemas and views are letters, digits and underscores, at most 63 characters, and do not begin with a digit.',
  },
  matviewNotFound: {
    status: 404,
    message: 'matview registration not found',
    help: 'No materialized view is registered under this id.',
  },
  notMaterializedView: {
    status: 404,
    message: 'materialized view not found in database',
    help: 'The schema has no materialized view of that name. A table or a plain view cannot be registered.',
  },
  matviewGone: {
    status: 404,
    message: 'materialized view no longer exists in database',
    help: 'The view was dropped or renamed after it was registered. Delete the registration.',
  },
  matviewAlreadyRegistered: {
    status: 409,
    message: 'materialized view already registered',
    help: 'This schema and view are already registered.',
  },
  refreshInProgress: {
    status: 409,
    message: 'refresh already in progress',
    help: 'The view is being refreshed, or another session holds a lock on it. Try again later.',
  },
  uniqueIndexMissing: {
    status: 409,
    message: 'concurrent refresh requires a unique index on the materialized view',
    help: 'Create a unique index on columns of the view, without a condition, or choose the standard mode.',
  },
  matviewNotPopulated: {
    status: 409,
    message: 'concurrent refresh requires a populated materialized view',
    help: 'Refresh the view once in standard mode.',
  },
  refreshFailed: {
    status: 500,
    message: 'refresh failed',
    help: "The view's query failed. `data.reason` and `lastRefreshError` have the reason.",
  },
  refreshTimeout: {
    status: 504,
    message: 'the refresh took too long',
    help: 'The limit is `matviews.refresh_timeout`.',
  },
} as const

export const matviewErrors = defineErrors(matviewErrorTable)
