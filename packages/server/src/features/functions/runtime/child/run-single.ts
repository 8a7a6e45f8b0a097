import type { LoadedFunction } from './load.ts'
import { type CallTools, createContext, describeError } from './run-call.ts'
import type { ResultMessage, SingleMessage } from './wire.ts'

/** Calls a function of which there is one. It never rejects. */
export async function runSingle(
  found: LoadedFunction | undefined,
  { call, claims, request, value }: SingleMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  try {
    const definition = found?.definition
    if (definition?.kind !== 'onSignUp' && definition?.kind !== 'claims' && definition?.kind !== 'sendMail')
      throw new Error('the function is not loaded')
    const bridge = tools.bridges.open(call)
    const context = createContext({ claims, request }, bridge, () => definition.openDatabase(bridge), tools)
    const result = await definition.handler(context, value)
    const json = definition.kind === 'sendMail' ? undefined : (JSON.stringify(result) as string | undefined)
    return { type: 'result', call, ...(json === undefined ? {} : { value: json }) }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}
