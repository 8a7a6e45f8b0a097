import { setImmediate } from 'node:timers/promises'
import type { LoadedFunction } from './load.ts'
import { type CallTools, createContext, describeError } from './run-call.ts'
import type { HookMessage, ResultMessage } from './wire.ts'

/** Time slice after which other messages are read, such as the end of the call. */
const sliceMs = 50

/** Calls a hook with each change, one after the other. It never rejects. */
export async function runHook(
  found: LoadedFunction | undefined,
  { call, user, claims, request, changes, isCollecting }: HookMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  const outcomes: object[] = []
  try {
    const definition = found?.definition
    if (definition?.kind !== 'before') throw new Error('the hook is not loaded')
    const { handler, parse, stringify } = definition
    const bridge = tools.bridges.open(call)
    const openDatabase = () => definition.openDatabase(bridge)
    const context = createContext({ user, claims, request }, bridge, openDatabase, tools)
    let sliceStart = performance.now()
    for (const { operation, id, values, previous } of changes) {
      if (performance.now() - sliceStart >= sliceMs) {
        await setImmediate()
        sliceStart = performance.now()
      }
      tools.signal.throwIfAborted()
      const change: { readonly operation: string; values?: unknown } & object = {
        operation,
        ...(id === undefined ? {} : { id }),
        ...(previous === undefined ? {} : { previous: Object.freeze(parse(previous)) }),
        ...(values === undefined ? {} : { values: parse(values) }),
      }
      const before = values === undefined ? undefined : stringify(change.values)
      try {
        const returned = await handler(context, change)
        if (returned !== undefined)
          throw new Error('a before hook returns nothing: it sets members of change.values')
        const after = values === undefined ? undefined : stringify(change.values)
        outcomes.push(after === before ? {} : { values: after })
      } catch (error) {
        const failure = describeError(error)
        if (failure.kind !== 'refused') throw error
        outcomes.push({ refusal: failure })
        if (!isCollecting) break
      }
    }
    return { type: 'result', call, value: JSON.stringify(outcomes) }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}
