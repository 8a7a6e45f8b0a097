import type { Tone } from '../../ui/layout.tsx'

export function toneOfLevel(level: string): Tone {
  if (level === 'error' || level === 'fatal') return 'danger'
  return level === 'warn' ? 'warning' : 'neutral'
}

export function toneOfStatus(status: number): Tone {
  if (status >= 500) return 'danger'
  return status >= 400 ? 'warning' : status >= 200 && status < 300 ? 'ok' : 'neutral'
}
