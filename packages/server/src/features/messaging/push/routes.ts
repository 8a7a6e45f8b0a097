import type { Queryable } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { messageOf } from '../../../lib/errors.ts'
import { readCredentials } from './credentials.ts'
import type { DeviceService } from './device-service.ts'
import { pushErrors } from './errors.ts'
import { requireId } from './message.ts'
import { type ProviderName, providerNames } from './provider.ts'
import type { PushProviders } from './registry.ts'
import { adminSchemas, ownSchemas } from './schemas.ts'
import type { SendService } from './send-service.ts'

export interface PushRoutes {
  readonly devices: DeviceService
  readonly sends: SendService
  /** @throws AppError push_disabled */
  readonly providers: () => PushProviders
  readonly lockCaller: LockCaller
}

/** Locks the caller's account until the transaction ends. @throws AppError invalid_token when its session has ended */
export type LockCaller = (transaction: Queryable, caller: UserIdentity) => Promise<unknown>

/** Devices of the caller, and messages of programs. */
export function ownPushRoutes(app: HttpServer, { devices, sends, providers, lockCaller }: PushRoutes): void {
  app.post(
    '/api/push/send',
    {
      config: { guard: 'bearer', operation: 'push.sendAsProgram', programs: 'push:send' },
      schema: ownSchemas.send,
    },
    async (request, reply) =>
      reply.send(await sends.sendAsProgram(request.body, userOf(request), originOf(request))),
  )
  const path = '/api/push/devices'
  app.post(
    path,
    { config: { guard: 'bearer', operation: 'push.registerOwnDevice' }, schema: ownSchemas.register },
    async (request, reply) => {
      const caller = userOf(request)
      const lock = (transaction: Queryable) => lockCaller(transaction, caller)
      const { sessionId = caller.userId } = caller
      return reply.code(201).send(await devices.register(caller.userId, request.body, { lock, sessionId }))
    },
  )
  app.get(
    path,
    { config: { guard: 'bearer', operation: 'push.listOwnDevices' }, schema: ownSchemas.list },
    async (request, reply) => {
      const { app_id: appId, limit, offset } = request.query
      const filter = { app_id: requireId('app_id', appId), user_id: userOf(request).userId }
      return reply.send(await devices.list({ ...filter, limit, offset }))
    },
  )
  app.delete(
    `${path}/:id`,
    { config: { guard: 'bearer', operation: 'push.revokeOwnDevice' }, schema: ownSchemas.revoke },
    async (request, reply) => {
      await devices.revoke(request.params.id, { userId: userOf(request).userId })
      return reply.code(204).send()
    },
  )
  app.get(
    '/api/push/web-push-key',
    { config: { guard: 'bearer', operation: 'push.getWebPushKey' }, schema: ownSchemas.webPushKey },
    async (_request, reply) => reply.send({ public_key: providers().webPushKey }),
  )
}

/** Devices, messages and providers, for administrators. */
export function adminPushRoutes(app: HttpServer, { devices, sends, providers }: PushRoutes): void {
  const path = '/api/admin/push'
  app.get(
    `${path}/devices`,
    { config: { guard: 'admin', operation: 'push.listDevices' }, schema: adminSchemas.listDevices },
    async (request, reply) => reply.send(await devices.list(request.query)),
  )
  app.post(
    `${path}/devices`,
    { config: { guard: 'admin', operation: 'push.registerDevice' }, schema: adminSchemas.register },
    async (request, reply) => {
      const { user_id: userId, ...device } = request.body
      return reply.code(201).send(await devices.register(userId, device, { origin: originOf(request) }))
    },
  )
  app.delete(
    `${path}/devices/:id`,
    { config: { guard: 'admin', operation: 'push.revokeDevice' }, schema: adminSchemas.revoke },
    async (request, reply) => {
      await devices.revoke(request.params.id, { origin: originOf(request) })
      return reply.code(204).send()
    },
  )
  app.post(
    `${path}/send`,
    { config: { guard: 'admin', operation: 'push.send' }, schema: adminSchemas.send },
    async (request, reply) => reply.send(await sends.send(request.body, originOf(request))),
  )
  app.post(
    `${path}/send-to-token`,
    { config: { guard: 'admin', operation: 'push.sendToDevice' }, schema: adminSchemas.sendToDevice },
    async (request, reply) => reply.send(await sends.sendToDevice(request.body, originOf(request))),
  )
  app.get(
    `${path}/deliveries`,
    { config: { guard: 'admin', operation: 'push.listDeliveries' }, schema: adminSchemas.listDeliveries },
    async (request, reply) => reply.send(await sends.listDeliveries(request.query)),
  )
  app.get(
    `${path}/deliveries/:id`,
    { config: { guard: 'admin', operation: 'push.getDelivery' }, schema: adminSchemas.getDelivery },
    async (request, reply) => reply.send(await sends.getDelivery(request.params.id)),
  )
  app.get(
    `${path}/sends/:id`,
    { config: { guard: 'admin', operation: 'push.getSend' }, schema: adminSchemas.getSend },
    async (request, reply) => reply.send(await sends.getSend(request.params.id)),
  )
  app.get(
    `${path}/providers`,
    { config: { guard: 'admin', operation: 'push.listProviders' }, schema: adminSchemas.listProviders },
    async (_request, reply) => reply.send({ items: providers().list() }),
  )
  app.put(
    `${path}/providers/:provider`,
    { config: { guard: 'admin', operation: 'push.changeProvider' }, schema: adminSchemas.changeProvider },
    async (request, reply) => {
      const name = requireProvider(request.params.provider)
      await providers().change(name, parseCredentials(name, request.body), originOf(request))
      return reply.send(providers().describe(name))
    },
  )
  app.delete(
    `${path}/providers/:provider`,
    { config: { guard: 'admin', operation: 'push.resetProvider' }, schema: adminSchemas.resetProvider },
    async (request, reply) => {
      await providers().reset(requireProvider(request.params.provider), originOf(request))
      return reply.code(204).send()
    },
  )
}

/** After the guard and before anything is read: every route of the scope answers 503 while push is disabled. */
export function refuseWhileDisabled(scope: HttpServer, isEnabled: boolean): void {
  scope.addHook('preParsing', async () => {
    if (!isEnabled) throw pushErrors.pushDisabled()
  })
}

function requireProvider(name: string): ProviderName {
  const known = providerNames.find((provider) => provider === name)
  if (known === undefined) throw pushErrors.invalidPush(`invalid push provider: "${name}"`)
  return known
}

function parseCredentials(name: ProviderName, body: Readonly<Record<string, unknown>>) {
  try {
    return readCredentials[name](body)
  } catch (error) {
    throw pushErrors.invalidPush(messageOf(error))
  }
}
