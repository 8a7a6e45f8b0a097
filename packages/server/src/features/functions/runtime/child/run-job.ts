import type { LoadedFunction } from './load.ts'
import { type CallTools, createContext, describeError, readInput } from './run-call.ts'
import type { JobMessage, ResultMessage } from './wire.ts'

/** Runs an attempt of a job. It never rejects. */
export async function runJob(
  found: LoadedFunction | undefined,
  { call, user, claims, job, attempt, payload }: JobMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  try {
    const definition = found?.definition
    if (definition?.kind !== 'job' && definition?.kind !== 'schedule')
      throw new Error('the job is not loaded')
    const bridge = tools.bridges.open(call)
    const openDatabase = () => definition.openDatabase(bridge)
    const context = createContext({ user, claims, job, attempt }, bridge, openDatabase, tools)
    const schema = definition.kind === 'job' ? definition.input : undefined
    const given = schema === undefined ? undefined : await readInput(schema, payload)
    await definition.handler(context, given)
    return { type: 'result', call }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}
