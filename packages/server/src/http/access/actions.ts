/**
 * Actions that a program may be granted beside reading and writing data. Each costs money or speaks for the
 * operator. Only an administrator grants one, and no data scope includes any.
 */
export const actions = ['email:send', 'sms:send', 'push:send'] as const
export type Action = (typeof actions)[number]

export function isAction(text: string): text is Action {
  return actions.some((action) => action === text)
}

/** Returns the actions in the order of the list, each once. */
export function orderActions(given: Iterable<string>): readonly Action[] {
  const set = new Set(given)
  return actions.filter((action) => set.has(action))
}
