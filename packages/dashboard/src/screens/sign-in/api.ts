import { type ApiResponse, type Body, get, patch, post, put, remove, segment } from '../../api/request.ts'

export type AuthSettings = ApiResponse<'authSettings.get'>
export type Provider = ApiResponse<'socialProviders.list'>['providers'][number]
export type ProviderChange = Body<'socialProviders.update'>

const pathOf = (provider: string) => `admin/auth/providers/${segment(provider)}` as const

export const readSettings = (signal: AbortSignal) =>
  get<'authSettings.get'>('admin/auth-settings', {}, { signal })
/** Changes some of the current settings. A write replaces all settings, and another administrator may have changed others. */
export async function changeSettings(change: Partial<AuthSettings>) {
  const stored = await get<'authSettings.get'>('admin/auth-settings')
  return await patch<'authSettings.update'>('admin/auth-settings', { ...stored, ...change })
}
export const listProviders = (signal: AbortSignal) =>
  get<'socialProviders.list'>('admin/auth/providers', {}, { signal })
export const changeProvider = (name: string, change: ProviderChange) =>
  put<'socialProviders.update'>(pathOf(name), change)
export const resetProvider = (name: string) => remove<'socialProviders.reset'>(pathOf(name))
export const testProvider = (name: string) => post<'socialProviders.test'>(`${pathOf(name)}/test`)
