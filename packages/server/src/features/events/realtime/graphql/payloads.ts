import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { Catalog } from '../../../../database/catalog/model.ts'
import { parseJson } from '../../../../lib/json.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'
import type { RecordAction, SubscriptionPlan } from '../../../data/graphql/index.ts'
import type { Message } from '../changes/select-events.ts'

/**
 * Values by plan and message. All clients with one document and one identity receive the same, whatever the transport.
 */
const values = new WeakMap<SubscriptionPlan, WeakMap<Message, Change>>()

interface Change {
  readonly action: RecordAction
  /** JSON text of the root field. */
  readonly value: string
}

/** Returns a function that returns false once the table no longer fits the subscription. */
export function holdsNow({
  plan,
  live,
}: {
  readonly plan: SubscriptionPlan
  readonly live: Pick<LiveCatalog, 'current'>
}): () => boolean {
  let checked: Catalog | undefined
  let isHolding = true
  return () => {
    if (isHolding && checked !== live.current) {
      checked = live.current
      isHolding = plan.holds(checked)
    }
    return isHolding
  }
}

/** Returns the result of a change as JSON text. @param id position to resume from, if it is certain */
export function changePayload(plan: SubscriptionPlan, message: Message, id: string | undefined): string {
  const known = values.get(plan) ?? new WeakMap<Message, Change>()
  values.set(plan, known)
  const change = known.get(message) ?? readChange(plan, message)
  known.set(message, change)
  return payloadOf(plan, change.value, { action: change.action, id })
}

function readChange(plan: SubscriptionPlan, { body }: Message): Change {
  const members = sliceObject(body)
  // The body is made by the feed, which has no other actions.
  const action = parseJson(members.get('action') ?? '""') as RecordAction
  return { action, value: plan.format(action, members.get('record') ?? '{}') }
}

/** Returns the notice that changes may be missing. */
export function gapPayload(plan: SubscriptionPlan, id: string | undefined): string {
  return payloadOf(plan, 'null', { gap: true, id })
}

/** Returns the notice that the subscription is in force. */
export function readyPayload(plan: SubscriptionPlan, id: string | undefined): string {
  return payloadOf(plan, 'null', { ready: true, id })
}

function payloadOf({ key }: SubscriptionPlan, value: string, extensions: object): string {
  return `{"data":{${JSON.stringify(key)}:${value}},"extensions":${JSON.stringify(extensions)}}`
}
