import type { LoadedFunction } from './load.ts'
import { type CallTools, createContext, describeError } from './run-call.ts'
import type { AfterMessage, ResultMessage } from './wire.ts'

/** Calls a function for a committed change. It never rejects. */
export async function runAfter(
  found: LoadedFunction | undefined,
  { call, user, claims, event, attempt, body }: AfterMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  try {
    const definition = found?.definition
    if (definition?.kind !== 'after') throw new Error('the function is not loaded')
    const bridge = tools.bridges.open(call)
    const openDatabase = () => definition.openDatabase(bridge)
    const context = createContext({ user, claims, event, attempt }, bridge, openDatabase, tools)
    // The server has written the body.
    const { action, record, oldRecord } = definition.parse(body) as {
      readonly action: string
      readonly record: unknown
      readonly oldRecord?: unknown
    }
    const previous = oldRecord === undefined ? {} : { previous: oldRecord }
    await definition.handler(context, { operation: action, record, ...previous })
    return { type: 'result', call }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}
