/**
 * What a program may do beside reading and writing data: each costs money or speaks for the operator. Only an administrator
 * grants one; no scope of data includes any.
 */
export const actions = ['email:send', 'sms:send', 'push:send'] as const
export type Action = (typeof actions)[number]

export function isAction(text: string): text is Action {
  return actions.some((action) => action === text)
}

/** Sorts actions as the list has them, each once. */
export function orderActions(given: Iterable<string>): readonly Action[] {
  const set = new Set(given)
  return actions.filter((action) => set.has(action))
}
