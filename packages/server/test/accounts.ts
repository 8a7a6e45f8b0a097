import { type Inbox, openInbox, tokenIn } from './inbox.ts'
import { createTestApp, type TestApp, type TestAppOptions, type TestResponse } from './test-app.ts'

/** Server for tests of accounts: mail and text messages go to an inbox, and every sign-in method is enabled. */
export interface AccountsApp extends AsyncDisposable {
  readonly app: TestApp
  readonly inbox: Inbox
  post(path: string, body?: unknown, token?: string): Promise<TestResponse>
  /** Starts another node on the same database with the same configuration. */
  secondNode(): Promise<TestApp>
  /** Registers a user and signs in. */
  register(email?: string, password?: string): Promise<SignedIn>
}

export interface SignedIn {
  readonly token: string
  readonly refreshToken: string
  readonly user: { readonly id: string; readonly email: string }
}

export const goodPassword = 'tangerine-harbour-42'

let count = 0
/** Returns an unused address. */
export function newEmail(): string {
  count += 1
  return `user${count}@example.com`
}

export const everyWayIn = {
  'auth.magic_link_enabled': 'true',
  'auth.anonymous_auth_enabled': 'true',
  'auth.sms_enabled': 'true',
  // Tests send many requests from one address.
  'auth.limits.anonymous_per_hour': '10000',
  'auth.limits.registrations_per_hour': '10000',
  'auth.limits.mail_requests_per_hour': '10000',
  'auth.limits.sms_requests_per_hour': '10000',
  'auth.limits.login_failures_per_address': '10000',
}

export async function createAccountsApp(
  options: TestAppOptions & { inbox?: Inbox } = {},
): Promise<AccountsApp> {
  const inbox = options.inbox ?? (await openInbox())
  const config = {
    ...everyWayIn,
    'email.backend': 'webhook',
    'email.webhook.url': inbox.url,
    'auth.sms_provider': 'webhook',
    'auth.sms_webhook_url': inbox.url,
    'auth.sms_webhook_secret': 'a secret of the inbox',
    'email.webhook.secret': 'a secret of the inbox',
    ...options.config,
  }
  const app = await createTestApp({ ...options, config })
  const post = (path: string, body?: unknown, token?: string) =>
    app.request('POST', `/api/auth/${path}`, { body, token })
  return {
    app,
    inbox,
    post,
    secondNode: () =>
      createTestApp({
        config,
        database: app.database,
        ...(options.reachProvider === undefined ? {} : { reachProvider: options.reachProvider }),
      }),
    async register(email = newEmail(), password = goodPassword) {
      const response = await post('register', { email, password })
      if (response.status !== 201) throw new Error(`register: ${response.text}`)
      return response.json
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      if (options.inbox === undefined) await inbox[Symbol.asyncDispose]()
    },
  }
}

/** Requests a sign-in link and returns its token. */
export async function mailedLinkToken({ post, inbox }: AccountsApp, email: string): Promise<string> {
  const response = await post('magic-link', { email })
  if (response.status !== 200) throw new Error(`magic-link: ${response.text}`)
  for (;;) {
    const mail = await inbox.take(email)
    if (mail.text?.includes('/auth/magic-link') === true) return tokenIn(mail)
  }
}

/** Decodes the claims of an access token. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
}
