import { get, type Item } from '../../api/request.ts'

export const readNode = (signal: AbortSignal) => get<'stats.get'>('admin/stats', {}, { signal })

export type Setting = Item<'overview.configuration'>

export const listSettings = async (signal: AbortSignal) =>
  (await get<'overview.configuration'>('admin/configuration', {}, { signal })).items
