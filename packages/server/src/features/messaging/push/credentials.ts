import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { codeOf, OperatorError } from '../../../lib/errors.ts'
import type { PushConfig } from './config.ts'
import type { ApnsCredentials } from './providers/apns.ts'
import type { ServiceAccount } from './providers/fcm.ts'
import { readVapidKeys } from './providers/webpush.ts'

/** Credentials by provider, from the configuration or from an administrator. */
export interface Credentials {
  readonly fcm: ServiceAccount
  readonly apns: ApnsCredentials
  /** Web Push credentials. The private key is 32 bytes as base64url. */
  readonly webpush: { readonly private_key: string; readonly subject: string }
}

type CredentialInput = Readonly<Record<string, unknown>>

/** Readers of credentials from either origin. @throws Error that names the member and the expected value */
export const readCredentials: {
  readonly [Name in keyof Credentials]: (input: CredentialInput) => Credentials[Name]
} = {
  fcm(input) {
    const account = {
      project_id: requireMember(input, 'project_id'),
      client_email: requireMember(input, 'client_email'),
      private_key: requireMember(input, 'private_key'),
      token_uri: requireMember({ token_uri: 'https://oauth2.googleapis.com/token', ...input }, 'token_uri'),
      ...(typeof input.private_key_id === 'string' ? { private_key_id: input.private_key_id } : {}),
    }
    requireKey('private_key', account.private_key, 'RSA')
    if (!URL.canParse(account.token_uri)) throw new Error('token_uri: expected a URL')
    return account
  },

  apns(input) {
    const environment = input.environment ?? 'production'
    if (environment !== 'production' && environment !== 'sandbox') {
      throw new Error('environment: expected production or sandbox')
    }
    const credentials = {
      key: requireMember(input, 'key'),
      team_id: requireMember(input, 'team_id'),
      key_id: requireMember(input, 'key_id'),
      bundle_id: requireMember(input, 'bundle_id'),
      environment,
    } as const
    requireKey('key', credentials.key, 'P-256')
    return credentials
  },

  webpush(input) {
    const privateKey = requireMember(input, 'private_key')
    const { subject = '' } = input
    if (typeof subject !== 'string' || !/^((mailto:|https:\/\/)\S+)?$/.test(subject)) {
      throw new Error('subject: expected a mailto: or https: URL')
    }
    try {
      readVapidKeys(Buffer.from(privateKey, 'base64url'))
    } catch {
      throw new Error('private_key: expected a private key of P-256, 32 bytes as base64url')
    }
    return { private_key: privateKey, subject }
  },
}

/** Returns the credentials of the configuration. @throws OperatorError for an unusable file */
export function configuredCredentials(config: PushConfig): Partial<Credentials> {
  const { fcm, apns, webpush } = config
  const { key_file: keyFile, base_url: _, ...keyDetails } = apns
  return {
    ...(fcm.credentials_file === ''
      ? {}
      : {
          fcm: fromFile('push.fcm.credentials_file', () =>
            readCredentials.fcm(parseFile(fcm.credentials_file)),
          ),
        }),
    ...(keyFile === ''
      ? {}
      : {
          apns: fromFile('push.apns.key_file', () =>
            readCredentials.apns({ ...keyDetails, key: readFileSync(keyFile, 'utf8') }),
          ),
        }),
    ...(webpush.private_key === ''
      ? {}
      : { webpush: fromFile('push.webpush.private_key', () => readCredentials.webpush(webpush)) }),
  }
}

/** Returns the members of credentials that are not secret. */
export function describeCredentials(
  credentials: Partial<Credentials>,
): Readonly<Record<string, CredentialInput | undefined>> {
  const { fcm, apns, webpush } = credentials
  return {
    fcm: fcm && { project_id: fcm.project_id, client_email: fcm.client_email },
    apns: apns && {
      team_id: apns.team_id,
      key_id: apns.key_id,
      bundle_id: apns.bundle_id,
      environment: apns.environment,
    },
    webpush: webpush && {
      subject: webpush.subject,
      public_key: readVapidKeys(Buffer.from(webpush.private_key, 'base64url')).publicKey,
    },
  }
}

function fromFile<Value>(key: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    // The error names only the code of a failed read, or a problem of the content.
    const problem = codeOf(error) ?? (error instanceof SyntaxError ? 'the file is no JSON' : String(error))
    throw new OperatorError(`${key}: ${problem.replace(/^Error: /, '')}`)
  }
}

function parseFile(path: string): CredentialInput {
  const content: unknown = JSON.parse(readFileSync(path, 'utf8'))
  if (typeof content !== 'object' || content === null) throw new Error('expected a JSON object')
  // Every member is checked where it is read.
  return content as CredentialInput
}

function requireMember(input: CredentialInput, name: string): string {
  const value = input[name]
  if (typeof value !== 'string' || value === '') throw new Error(`${name} is required`)
  return value
}

function requireKey(name: string, pem: string, type: 'RSA' | 'P-256'): void {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
    if (type === 'RSA' ? asymmetricKeyType === 'rsa' : asymmetricKeyDetails?.namedCurve === 'prime256v1')
      return
  } catch {
    // The original error may quote the key.
  }
  throw new Error(`${name}: expected a private ${type} key in PEM`)
}
