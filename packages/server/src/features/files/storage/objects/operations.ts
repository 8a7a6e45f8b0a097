import { created, noContent, ok, operation } from '../../../../http/operation.ts'
import { bearerSecurity, component, responses } from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { Type } from '../../../../lib/type.ts'
import type { IdempotencyKey } from '../../../data/idempotency/index.ts'
import { type Actor, actorOf, requireBucket } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import { objectName, readObjectName } from '../names.ts'
import { StorageObject } from '../object.ts'
import {
  keyOf,
  objectHeaders,
  objectLocationOf,
  objectParams,
  objectPath,
  readCondition,
} from '../requests.ts'
import type { AddressService } from '../signing/addresses.ts'
import type { Copier } from './copy.ts'
import type { ObjectLocation } from './object-queries.ts'
import type { ObjectService } from './objects.ts'
import type { Uploader } from './upload.ts'

export interface ObjectDeps {
  readonly objects: ObjectService
  readonly uploader: Uploader
  readonly copier: Copier
  readonly addresses: AddressService
}

export const remove = operation({
  guard: 'data',
  programs: 'write',
  tag: 'storage',
  id: 'storage.delete',
  method: 'DELETE',
  path: objectPath,
  summary: 'Delete an object',
  params: objectParams,
  headers: objectHeaders,
  success: noContent,
  async handle({ objects }: Pick<ObjectDeps, 'objects'>, { params, identity, http }, reply) {
    const actor = actorOf(identity)
    requireBucket(actor, params.bucket)
    const condition = readCondition(http)
    await objects.delete(actor, objectLocationOf(params, http), { condition, key: keyOf(http, reply) })
  },
})

/** Request for an action on an object. */
interface ObjectCall {
  readonly actor: Actor
  readonly location: ObjectLocation
  readonly expiresIn: number | undefined
  /** @throws AppError invalid_destination, invalid_object_name, insufficient_scope */
  readonly destination: () => ObjectLocation
  readonly key: () => IdempotencyKey | undefined
}

const SignedAddress = component(
  'SignedAddress',
  Type.Object({ url: Type.String({ description: 'Relative to the server.' }) }),
)
const strict = { additionalProperties: false }
const expiresIn = Type.Integer({ minimum: 1, maximum: 604_800, default: 3600, description: 'Seconds.' })
const otherBucket = Type.String({ description: 'Default: the same bucket.' })
const signing = Type.Object({ expiresIn: Type.Optional(expiresIn) }, strict)
const destination = Type.Object({ bucket: Type.Optional(otherBucket), name: objectName }, strict)

/** Actions on objects, by the last segment of a path that the router takes as a whole. */
const actions = [
  {
    operationId: 'storage.sign',
    segment: 'sign',
    summary: 'Sign an address to download an object from',
    body: signing,
    success: ok(SignedAddress),
    act: ({ addresses }: ObjectDeps, { actor, location, expiresIn }: ObjectCall) =>
      addresses.signDownload(actor, location, expiresIn),
  },
  {
    operationId: 'storage.signUpload',
    segment: 'sign-upload',
    summary: 'Sign an address to upload an object to by PUT',
    body: signing,
    success: ok(SignedAddress),
    async act({ addresses, uploader }: ObjectDeps, { actor, location, expiresIn }: ObjectCall) {
      await uploader.limitOf(location.bucket)
      return await addresses.signUpload(actor, location, expiresIn)
    },
  },
  {
    operationId: 'storage.revokeAddresses',
    segment: 'revoke',
    summary: 'End the addresses of an object that the caller has signed',
    success: ok(Type.Object({ revoked: Type.Integer({ description: 'Addresses that were ended.' }) })),
    act: ({ addresses }: ObjectDeps, { actor, location }: ObjectCall) => addresses.revoke(actor, location),
  },
  {
    operationId: 'storage.move',
    segment: 'move',
    summary: 'Move an object',
    body: destination,
    success: ok(StorageObject),
    act: ({ copier }: ObjectDeps, { actor, location, destination, key }: ObjectCall) =>
      copier.move(actor, location, destination(), key()),
  },
  {
    operationId: 'storage.copy',
    segment: 'copy',
    summary: 'Copy an object',
    body: destination,
    success: created(StorageObject),
    act: ({ copier }: ObjectDeps, { actor, location, destination, key }: ObjectCall) =>
      copier.copy(actor, location, destination(), key()),
  },
]

/** Adds the route of all actions. Each is an operation of its own in the API document. */
export function addActions(app: HttpServer, deps: ObjectDeps): void {
  app.post(
    objectPath,
    {
      config: { guard: 'data', programs: 'write', operation: 'storage.act' },
      schema: {
        tags: ['storage'],
        security: bearerSecurity,
        params: objectParams,
        headers: objectHeaders,
        body: Type.Optional(
          Type.Object(
            {
              expiresIn: Type.Optional(Type.Integer()),
              bucket: Type.Optional(Type.String()),
              name: Type.Optional(Type.String()),
            },
            strict,
          ),
        ),
        response: responses({}),
        documentedAs: actions.map(({ success, ...action }) => ({
          ...action,
          responses: { [success.status]: success.body },
        })),
      },
    },
    async (request, reply) => {
      const actor = actorOf(request.identity)
      const { bucket, '*': path } = request.params
      requireBucket(actor, bucket)
      const action = actions.find(({ segment }) => path.endsWith(`/${segment}`))
      if (action === undefined) return reply.callNotFound()
      const { expiresIn, name, bucket: target = bucket } = request.body ?? {}
      const answer = await action.act(deps, {
        actor,
        location: { bucket, name: readObjectName(path.slice(0, -action.segment.length - 1)) },
        expiresIn,
        destination() {
          if (name === undefined) throw storageErrors.invalidDestination('name is required')
          const location = { bucket: target, name: readObjectName(name) }
          requireBucket(actor, target)
          return location
        },
        key: () => keyOf(request, reply),
      })
      return reply.code(action.success.status).send(answer)
    },
  )
}
