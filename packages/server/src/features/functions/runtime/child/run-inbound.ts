import type { LoadedFunction } from './load.ts'
import { type CallTools, createAsAdmin, createContext, describeError } from './run-call.ts'
import type { InboundMessage, ResultMessage, VerifyMessage } from './wire.ts'

/** Verifies a message of another service. It never rejects. */
export async function runVerify(
  found: LoadedFunction | undefined,
  { call, arrived }: VerifyMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  try {
    const { definition, bridge } = open(found, call, tools)
    // Without the database, and without jobs.
    const { secrets, log, signal, fetch } = createContext({}, bridge, () => ({}), tools) as Readonly<
      Record<string, unknown>
    >
    const request = { ...arrived, body: Buffer.from(arrived.body, 'base64') }
    const verified = await definition.verify(request, { secrets, log, signal, fetch })
    if (verified === undefined) return { type: 'result', call }
    const { id, time } = Object(verified) as { id?: unknown; time?: unknown }
    const value = JSON.stringify({ id, time: time instanceof Date ? time.getTime() / 1000 : undefined })
    return { type: 'result', call, value }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}

/** Handles a verified message. It never rejects. */
export async function runInbound(
  found: LoadedFunction | undefined,
  { call, claims, request, arrived, verified }: InboundMessage,
  tools: CallTools,
): Promise<ResultMessage> {
  try {
    const { definition, bridge } = open(found, call, tools)
    const openDatabase = () => definition.openDatabase(bridge)
    const asAdmin = createAsAdmin(definition, call, tools)
    const context = createContext({ claims, request, asAdmin }, bridge, openDatabase, tools)
    const body = Buffer.from(arrived.body, 'base64')
    const message = {
      ...{ ...arrived, id: verified.id, time: new Date(verified.time * 1000), body },
      text: () => body.toString(),
      json: () => JSON.parse(body.toString()),
    }
    const value = JSON.stringify(await definition.handler(context, message)) as string | undefined
    return { type: 'result', call, ...(value === undefined ? {} : { value }) }
  } catch (error) {
    return { type: 'failure', call, ...describeError(error) }
  }
}

function open(found: LoadedFunction | undefined, call: string, { bridges }: CallTools) {
  const definition = found?.definition
  if (definition?.kind !== 'inbound') throw new Error('the function is not loaded')
  return { definition, bridge: bridges.open(call) }
}
