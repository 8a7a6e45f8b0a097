import { defineErrors } from '../../../lib/errors.ts'

export const cdnErrorTable = {
  invalidPurgeMode: {
    status: 400,
    message: 'choose exactly one mode: either urls or purge_all',
    help: 'Send `urls` with at least one address, or `purge_all` with true, and not both.',
  },
  invalidPurgeUrls: {
    status: 400,
    message: 'urls must contain absolute public URLs',
    help: 'Each address begins with `http://` or `https://` and a host, without a user name or a password.',
  },
  purgeAllLimitExceeded: {
    status: 429,
    message: 'cdn purge_all rate limit exceeded',
    help: 'Everything can be purged once a minute from one address. Wait for the number of seconds in the `Retry-After` header, or send `urls`.',
  },
} as const

export const cdnErrors = defineErrors(cdnErrorTable)
