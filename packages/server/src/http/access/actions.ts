import { Type } from '../../lib/type.ts'

/**
 * Actions that a program may be granted beside reading and writing data. Each costs money or speaks for the
 * operator. Only an administrator grants one, and no data scope includes any.
 */
export const actions = ['email:send', 'sms:send', 'push:send'] as const

/** Call of one function of the operator. */
export type FunctionAction = `function:${string}`
export type Action = (typeof actions)[number] | FunctionAction

/** Actions as errors and descriptions list them. */
export const actionNames = [...actions, 'function:<name>']

/** Pattern of an action. Names of functions need not exist yet. */
export const actionPattern = `(${actions.join('|')}|function:[A-Za-z0-9_.-]{1,100})`
const actionForm = new RegExp(`^${actionPattern}$`)

/** Schema of an action. */
export const ActionName = Type.Unsafe<Action>(Type.String({ pattern: `^${actionPattern}$` }))

export function isAction(text: string): text is Action {
  return actionForm.test(text)
}

/** Returns the actions, each once: in the order of the list, and then functions by name. */
export function orderActions(given: Iterable<string>): readonly Action[] {
  const set = new Set(given)
  const functions = [...set].filter((each) => isAction(each) && !actions.some((action) => action === each))
  return [...actions.filter((action) => set.has(action)), ...(functions.toSorted() as FunctionAction[])]
}
