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
    help: 'Start each address with `http://` or `https://` and a host. Leave out user name and password.',
  },
  purgeAllLimitExceeded: {
    status: 429,
    message: 'cdn purge_all rate limit exceeded',
    help: '`purge_all` is allowed once a minute per address. Wait for the seconds in the `Retry-After` header, or send `urls`.',
  },
} as const

export const cdnErrors = defineErrors(cdnErrorTable)
