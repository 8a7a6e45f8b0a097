export const tones = { error: 'danger', warning: 'warning', info: 'neutral' } as const
