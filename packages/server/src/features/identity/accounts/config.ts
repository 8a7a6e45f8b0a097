import { flag, integer, text } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { isLoopback } from '../../../lib/addresses.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Longest lifetime of an access token. Revocations of tokens without a session are kept this long. */
export const longestTokenSeconds = 86_400

/** Keys of `auth` for tokens, passwords, sign-in methods and limits. */
export const accountKeys = {
  enabled: flag(
    true,
    'True if callers need a token. False opens the data API to everyone, without policies.',
  ),
  jwt_secret: text(
    '',
    'Key that signs access tokens (HS256). With the embedded database it is generated when empty.',
    {
      secret: true,
      pattern: '^(.{32,})?$',
      expects: 'at least 32 characters',
    },
  ),
  encryption_key: text(
    '',
    'Key that encrypts secrets at rest: of authenticator apps, webhooks, push services and sign-in providers. When empty, it is generated with the embedded database and derived from auth.jwt_secret otherwise.',
    {
      secret: true,
      pattern: '^([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)?$',
      expects: '32 bytes in hexadecimal or base64',
    },
  ),
  previous_encryption_keys: text(
    '',
    'Earlier encryption keys, separated by commas. They decrypt existing secrets and encrypt no new ones.',
    {
      secret: true,
      pattern: '^(([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)(,([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?))*)?$',
      expects: 'keys as auth.encryption_key, separated by commas',
    },
  ),
  token_duration: integer(900, 'Seconds for which an access token is valid.', 10, longestTokenSeconds),
  refresh_token_duration: integer(604_800, 'Seconds after which an unused session ends.', 60, 31_536_000),
  min_password_length: integer(8, 'Minimum length of a password in characters.', 8, 64),
  refuse_common_passwords: flag(
    true,
    'True if common passwords are rejected. In development they are accepted, with a warning in the log.',
  ),
  refuse_breached_passwords: flag(
    false,
    'True if passwords of known data breaches are rejected. Five digits of their SHA-1 are sent to auth.breached_passwords_url.',
  ),
  breached_passwords_url: text(
    'https://api.pwnedpasswords.com/range',
    'Service with the range protocol of Have I Been Pwned.',
    { pattern: '^https?://[^?#\\s]+$', expects: 'an http or https URL' },
  ),
  require_verified_email: flag(
    false,
    'True if users with an email address must verify it before they can sign in.',
  ),
  site_url: text('', 'Site that mailed links lead to. Empty means the pages of this server.', {
    pattern: '^(https?://[^?#\\s]+)?$',
    expects: 'an http or https URL, such as https://app.example.com',
  }),
  magic_link_enabled: flag(false, 'True if users may sign in by a mailed link.'),
  magic_link_duration: integer(600, 'Seconds for which a mailed sign-in link is valid.', 30, 86_400),
  anonymous_auth_enabled: flag(false, 'True if users may sign in anonymously.'),
  clean_up: Type.Object({
    enabled: flag(
      false,
      'True if a job removes unlinked anonymous accounts and unfinished enrolments every hour.',
    ),
    anonymous_days: integer(30, 'Days after which an unlinked anonymous account is removed.', 1, 36_500),
    enrollment_minutes: integer(
      10,
      'Minutes after which an unconfirmed second factor is removed.',
      1,
      525_600,
    ),
  }),
  limits: Type.Object({
    login_failures: integer(10, 'Failed sign-ins per account and address within 15 minutes.', 1, 100_000),
    login_failures_per_account: integer(
      100,
      'Failed sign-ins per account and hour, from all addresses that the account has not signed in from.',
      1,
      1_000_000,
    ),
    login_failures_per_address: integer(
      100,
      'Failed sign-ins per client address within 15 minutes, 100 times as many in development.',
      1,
      1_000_000,
    ),
    registrations_per_hour: integer(
      100,
      'Registrations per client address and hour, 100 times as many in development.',
      1,
      1_000_000,
    ),
    mails_per_hour: integer(10, 'Mails to one address that callers can cause per hour.', 1, 10_000),
    mail_requests_per_hour: integer(
      100,
      'Requests for mails per client address and hour, 100 times as many in development.',
      1,
      1_000_000,
    ),
    sms_per_hour: integer(5, 'Text messages to one number per hour.', 1, 1000),
    sms_messages_per_hour: integer(100, 'Text messages that one user may send per hour.', 1, 100_000),
    sms_requests_per_hour: integer(
      30,
      'Requests for text messages per client address and hour, 100 times as many in development.',
      1,
      1_000_000,
    ),
    anonymous_per_hour: integer(30, 'Anonymous sign-ins per client address and hour.', 1, 1_000_000),
  }),
}

export type AccountConfig = Static<ReturnType<typeof Type.Object<typeof accountKeys>>>

/** Rules of `auth`. */
export const accountRules: readonly ConfigRule<Sections>[] = [
  openDataNeedsLoopback,
  externalDatabaseNeedsSecret,
]

interface Sections {
  readonly auth: AccountConfig
  readonly database: { readonly url: string }
  readonly server: { readonly host: string; readonly insecure_open: boolean }
}

/** Requires a loopback address when auth is off, since every caller could then read and write all data. */
function openDataNeedsLoopback({ auth, server }: Sections): RuleViolation | undefined {
  if (auth.enabled || server.insecure_open || isLoopback(server.host)) return undefined
  return {
    key: 'auth.enabled',
    problem: `false opens the data to everyone who reaches ${server.host}; listen on 127.0.0.1 or set server.insecure_open = true`,
  }
}

/** Requires a secret with an external database. Several nodes share it, so none of them can generate it. */
function externalDatabaseNeedsSecret({ auth, database }: Sections): RuleViolation | undefined {
  if (!auth.enabled || database.url === '' || auth.jwt_secret !== '') return undefined
  return { key: 'auth.jwt_secret', problem: 'required with database.url: at least 32 random characters' }
}
