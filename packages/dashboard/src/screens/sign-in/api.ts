import { get, patch, post, put, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/auth-settings`. */
export interface AuthSettings {
  readonly magic_link_enabled: boolean
  readonly sms_enabled: boolean
  readonly anonymous_auth_enabled: boolean
  readonly email_mfa_enabled: boolean
  readonly totp_enabled: boolean
  readonly webauthn_enabled: boolean
}

/** Of `GET /api/admin/auth/providers`. */
export interface Provider {
  readonly name: string
  readonly type: 'builtin' | 'oidc'
  readonly display_name: string
  readonly enabled: boolean
  readonly client_id_configured: boolean
  readonly client_secret_configured: boolean
  readonly store_provider_tokens: boolean
  /** The first setting that it cannot work without. */
  readonly missing: string | null
  /** Whether an administrator has changed what the configuration says. */
  readonly changed: boolean
  readonly callback_url: string
}

export interface ProviderChange {
  readonly enabled: boolean
  readonly client_id?: string
  readonly client_secret?: string
  readonly store_provider_tokens: boolean
}

export interface ProviderTest {
  readonly success: boolean
  readonly message: string
}

const pathOf = (provider: string) => `admin/auth/providers/${segment(provider)}`

export const readSettings = (signal: AbortSignal) => get<AuthSettings>('admin/auth-settings', {}, { signal })
/** All of them: one that is left out is switched off. */
export const writeSettings = (settings: AuthSettings) => patch<AuthSettings>('admin/auth-settings', settings)
export const listProviders = (signal: AbortSignal) =>
  get<{ providers: Provider[] }>('admin/auth/providers', {}, { signal })
export const changeProvider = (name: string, change: ProviderChange) => put<Provider>(pathOf(name), change)
export const resetProvider = (name: string) => remove(pathOf(name))
export const testProvider = (name: string) => post<ProviderTest>(`${pathOf(name)}/test`)
