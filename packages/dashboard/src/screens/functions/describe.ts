import type { Tone } from '../../ui/layout.tsx'
import type { LoadedFunction } from './api.ts'

/** Returns what starts a function: a request, a write, a time. */
export function triggerOf(each: LoadedFunction): string {
  switch (each.kind) {
    case 'route':
      return `${each.method} /api/functions${each.path}`
    case 'inbound':
      return `POST /api/functions/inbound/${each.inbound}`
    case 'job':
      return each.job ?? ''
    case 'schedule':
      return `${each.expression} ${each.timezone}`
    default:
      return each.table === undefined ? '' : `${each.operations?.join(', ')} of ${each.table}`
  }
}

const words: Readonly<Record<string, string>> = {
  anonymous: 'no token required',
  user: 'users',
  admin: 'administrators',
}
const tones: Readonly<Record<string, Tone>> = { anonymous: 'warning', user: 'neutral', admin: 'accent' }

/** Returns the callers of a function as a word with its tone; undefined for one that the server itself calls. */
export function accessOf({ access }: LoadedFunction): readonly [word: string, tone: Tone] | undefined {
  return access === undefined ? undefined : [words[access] ?? access, tones[access] ?? 'neutral']
}

/** Returns the names of the parameters of a path: `id` of `/orders/:id`. */
export const parametersOf = ({ path = '' }: LoadedFunction): readonly string[] =>
  path.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []))
