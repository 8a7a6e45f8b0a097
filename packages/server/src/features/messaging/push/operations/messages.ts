import { userOf } from '../../../../http/access/authentication.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { choiceOrEmpty, refusedWith } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { requireAllowed, type Throttle } from '../../../operations/throttle/index.ts'
import { type AddSendDeps, addSend, addSendToMany } from '../add-send.ts'
import type { PushConfig } from '../config.ts'
import { deliveryStates, findDelivery, listDeliveries, PushDelivery } from '../delivery.ts'
import { findDevice } from '../device.ts'
import { pushErrors } from '../errors.ts'
import { readMessage, SendInput, toDevice, toMany, topicForm, topicProblem } from '../message.ts'
import { idOf, params, rangeOf, readRange, requireId } from '../parameters.ts'
import { findSend, PushSend, type Target } from '../send.ts'

export interface MessageDeps extends AddSendDeps {
  readonly config: PushConfig
  readonly throttle: Throttle
}

const id = Type.String({ format: 'uuid' })

const sendAsProgram = operation({
  id: 'push.sendAsProgram',
  guard: 'bearer',
  programs: 'push:send',
  method: 'POST',
  path: '/api/push/send',
  tag: 'push',
  summary: "Send a message to devices of the program's app",
  description:
    'Sends to the devices of a user, or of a topic. API keys and OAuth tokens need the action `push:send`. Their user may send `push.policy.sends_per_hour` messages, over all credentials.',
  body: SendInput,
  documentedBody: toMany(
    Type.Object({
      app_id: Type.Optional(Type.String({ format: 'uuid', description: 'App of the program.' })),
    }),
  ),
  success: ok(
    Type.Object({
      send_id: id,
      count: Type.Integer({ description: "Number of the user's devices. 0 for a topic." }),
    }),
  ),
  async handle(deps: MessageDeps, { body, http, origin }) {
    const { userId, appId, keyId, clientId, isAnonymous, scope } = userOf(http)
    if (scope.grant === undefined || isAnonymous) throw pushErrors.pushSenderNotPermitted()
    if (body.app_id !== undefined && requireId('app_id', body.app_id) !== appId) {
      throw pushErrors.invalidPush('app_id: expected the app of the program')
    }
    const target = readTarget(body)
    readMessage(body)
    const limit = { name: 'push.user', attempts: deps.config.policy.sends_per_hour, windowSeconds: 3600 }
    requireAllowed(await deps.throttle.attempt(limit, userId || appId), pushErrors.pushLimitReached())
    const sender = { actor: 'program', origin, detail: { userId, keyId, clientId } } as const
    const send = await addSendToMany(deps, appId, target, body, sender)
    return { send_id: send.id, count: send.deliveries.length }
  },
})

const administrative = { guard: 'admin', permission: 'bodies.read', tag: 'push' } as const
const path = '/api/admin/push'

const send = operation({
  ...administrative,
  id: 'push.send',
  permission: 'content.write',
  method: 'POST',
  path: `${path}/send`,
  summary: 'Send a message to the devices of a user, or of a topic',
  body: SendInput,
  documentedBody: toMany(Type.Object({ app_id: id })),
  success: ok(Type.Object({ send_id: id, deliveries: Type.Array(PushDelivery) })),
  async handle(deps: MessageDeps, { body, origin }) {
    const appId = requireId('app_id', body.app_id)
    const { id, deliveries } = await addSendToMany(deps, appId, readTarget(body), body, {
      actor: 'admin',
      origin,
    })
    return { send_id: id, deliveries }
  },
})

const sendToDevice = operation({
  ...administrative,
  id: 'push.sendToDevice',
  permission: 'content.write',
  method: 'POST',
  path: `${path}/send-to-token`,
  summary: 'Send a message to one device',
  body: SendInput,
  documentedBody: toDevice,
  success: ok(PushDelivery),
  async handle(deps: MessageDeps, { body, origin }) {
    const deviceId = requireId('token_id', body.token_id)
    const device = await findDevice(deps.database, deviceId)
    readMessage(body)
    if (device === undefined) throw pushErrors.pushTokenNotFound()
    if (!device.is_active) throw pushErrors.invalidDeviceToken()
    const target = { kind: 'device', deviceId } as const
    const sender = { actor: 'admin', origin } as const
    const { deliveries } = await addSend(deps, device.app_id, target, body, sender, async () => [device])
    const [delivery] = deliveries
    if (delivery === undefined) throw new Error('the delivery was not added')
    return delivery
  },
})

const list = operation({
  ...administrative,
  id: 'push.listDeliveries',
  method: 'GET',
  path: `${path}/deliveries`,
  summary: 'List deliveries, the newest first',
  query: Type.Object({
    app_id: Type.Optional(idOf('app_id')),
    user_id: Type.Optional(idOf('user_id')),
    send_id: Type.Optional(idOf('send_id')),
    device_token_id: Type.Optional(idOf('device_token_id')),
    status: Type.Optional(
      refusedWith(
        {
          invalid: () =>
            pushErrors.invalidPush(`invalid status: status must be one of: ${deliveryStates.join(', ')}`),
        },
        choiceOrEmpty(deliveryStates),
      ),
    ),
    ...rangeOf('Default: 50. Maximum: 500.'),
  }),
  success: ok(Type.Object({ items: Type.Array(PushDelivery) })),
  async handle({ database }: MessageDeps, { query }) {
    const { app_id: appId, user_id: userId, send_id: sendId, device_token_id: deviceId, status } = query
    const filter = { appId, userId, sendId, deviceId, status, ...readRange(query, 50) }
    return { items: await listDeliveries(database, filter) }
  },
})

const getDelivery = operation({
  ...administrative,
  id: 'push.getDelivery',
  method: 'GET',
  path: `${path}/deliveries/:id`,
  summary: 'Get a delivery',
  params,
  success: ok(PushDelivery),
  async handle({ database }: MessageDeps, { params }) {
    const delivery = await findDelivery(database, params.id)
    if (delivery === undefined) throw pushErrors.pushDeliveryNotFound()
    return delivery
  },
})

const getSend = operation({
  ...administrative,
  id: 'push.getSend',
  method: 'GET',
  path: `${path}/sends/:id`,
  summary: 'Get a message with counts of its deliveries by status',
  params,
  success: ok(PushSend),
  async handle({ database }: MessageDeps, { params }) {
    const send = await findSend(database, params.id)
    if (send === undefined) throw pushErrors.sendNotFound()
    return send
  },
})

/** Operations on messages and their deliveries. */
export const messageOperations = [sendAsProgram, send, sendToDevice, list, getDelivery, getSend]

/** Reads the target. @throws AppError invalid_push */
export function readTarget({ user_id: userId, topic }: SendInput): Exclude<Target, { kind: 'device' }> {
  if (topic === undefined) return { kind: 'user', userId: requireId('user_id', userId) }
  if (userId !== undefined) throw pushErrors.invalidPush('expected either user_id or topic, not both')
  if (!new RegExp(topicForm).test(topic)) throw pushErrors.invalidPush(topicProblem('topic'))
  return { kind: 'topic', topic }
}
