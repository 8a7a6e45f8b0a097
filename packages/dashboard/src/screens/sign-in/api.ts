import { type Answer, type Body, get, patch, post, put, remove, segment } from '../../api/request.ts'

export type AuthSettings = Answer<'authSettings.get'>
export type Provider = Answer<'socialProviders.list'>['providers'][number]
export type ProviderChange = Body<'socialProviders.update'>

const pathOf = (provider: string) => `admin/auth/providers/${segment(provider)}` as const

export const readSettings = (signal: AbortSignal) =>
  get<'authSettings.get'>('admin/auth-settings', {}, { signal })
/** All of them: one that is left out is switched off. */
export const writeSettings = (settings: AuthSettings) =>
  patch<'authSettings.update'>('admin/auth-settings', settings)
export const listProviders = (signal: AbortSignal) =>
  get<'socialProviders.list'>('admin/auth/providers', {}, { signal })
export const changeProvider = (name: string, change: ProviderChange) =>
  put<'socialProviders.update'>(pathOf(name), change)
export const resetProvider = (name: string) => remove<'socialProviders.reset'>(pathOf(name))
export const testProvider = (name: string) => post<'socialProviders.test'>(`${pathOf(name)}/test`)
