import type { Queryable } from '../../../../database/system-database.ts'
import { userOf } from '../../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../../http/access/identity.ts'
import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import { choice, refusedWith } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { recordAudit } from '../../../operations/audit/index.ts'
import { listDevices, PushDevice, revokeDevice } from '../device.ts'
import { pushErrors } from '../errors.ts'
import { idOf, params, rangeOf, readRange } from '../parameters.ts'
import { deviceMembers, NewDevice, type RegisterDeps, register } from '../register-device.ts'

export interface DeviceDeps extends RegisterDeps {
  readonly lockCaller: LockCaller
}

/**
 * Function that locks the caller's account until the transaction ends.
 *
 * @throws AppError invalid_token when the caller's session has ended
 */
export type LockCaller = (transaction: Queryable, caller: UserIdentity) => Promise<unknown>

const range = rangeOf('Default: 500, the maximum.')
const devices = ok(Type.Object({ items: Type.Array(PushDevice) }))

const own = { guard: 'bearer', tag: 'push' } as const
const ownPath = '/api/push/devices'

const registerOwn = operation({
  ...own,
  id: 'push.registerOwnDevice',
  method: 'POST',
  path: ownPath,
  summary: 'Register a device of the caller, or refresh its registration',
  body: NewDevice,
  success: created(PushDevice),
  async handle(deps: DeviceDeps, { body, http }) {
    const caller = userOf(http)
    const { userId, sessionId = userId } = caller
    const before = (transaction: Queryable) => deps.lockCaller(transaction, caller)
    return await register(deps, body, { userId, sessionId, before })
  },
})

const listOwn = operation({
  ...own,
  id: 'push.listOwnDevices',
  method: 'GET',
  path: ownPath,
  summary: "List the caller's active devices",
  query: Type.Object({ app_id: idOf('app_id'), ...range }),
  success: devices,
  async handle({ database }: DeviceDeps, { query, http }) {
    const { userId } = userOf(http)
    const filter = { appId: query.app_id, userId, includesInactive: false, ...readRange(query) }
    return { items: await listDevices(database, filter) }
  },
})

const revokeOwn = operation({
  ...own,
  id: 'push.revokeOwnDevice',
  method: 'DELETE',
  path: `${ownPath}/:id`,
  summary: "Revoke one of the caller's devices",
  params,
  success: noContent,
  async handle({ database }: DeviceDeps, { params, http }) {
    const isRevoked = await revokeDevice(database, params.id, userOf(http).userId)
    if (!isRevoked) throw pushErrors.deviceNotFound()
  },
})

const administrative = { guard: 'admin', permission: 'content.write', tag: 'push' } as const
const path = '/api/admin/push/devices'

const list = operation({
  ...administrative,
  id: 'push.listDevices',
  permission: 'users.read',
  method: 'GET',
  path,
  summary: 'List devices, the newest first',
  query: Type.Object({
    app_id: Type.Optional(idOf('app_id')),
    user_id: Type.Optional(idOf('user_id')),
    include_inactive: Type.Optional(
      refusedWith(
        { invalid: () => pushErrors.invalidPush('include_inactive: expected true or false') },
        choice(['true', 'false'], { description: 'True to list inactive devices too.' }),
      ),
    ),
    ...range,
  }),
  success: devices,
  async handle({ database }: DeviceDeps, { query }) {
    const { app_id: appId, user_id: userId } = query
    const includesInactive = query.include_inactive === 'true'
    return { items: await listDevices(database, { appId, userId, includesInactive, ...readRange(query) }) }
  },
})

const registerForUser = operation({
  ...administrative,
  id: 'push.registerDevice',
  method: 'POST',
  path,
  summary: 'Register a device for a user',
  body: Type.Object({ app_id: idOf('app_id'), user_id: idOf('user_id'), ...deviceMembers }),
  success: created(PushDevice),
  async handle(deps: DeviceDeps, { body: { user_id: userId, ...body }, origin }) {
    const detail = { appId: body.app_id, userId, provider: body.provider }
    return await register(deps, body, {
      userId,
      after: (transaction, { id: target }) =>
        recordAudit(transaction, { actor: 'admin', action: 'push.register_device', target, detail, origin }),
    })
  },
})

const revoke = operation({
  ...administrative,
  id: 'push.revokeDevice',
  method: 'DELETE',
  path: `${path}/:id`,
  summary: 'Revoke a device',
  params,
  success: noContent,
  async handle({ database }: DeviceDeps, { params: { id }, origin }) {
    await database.transaction(async (transaction) => {
      if (!(await revokeDevice(transaction, id))) throw pushErrors.deviceNotFound()
      await recordAudit(transaction, { actor: 'admin', action: 'push.revoke_device', target: id, origin })
    })
  },
})

/** Operations on devices of callers, and of all users. */
export const deviceOperations = [registerOwn, listOwn, revokeOwn, list, registerForUser, revoke]
