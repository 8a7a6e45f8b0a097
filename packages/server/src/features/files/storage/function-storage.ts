import { buffer } from 'node:stream/consumers'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { Step } from '../../../database/caller/caller-steps.ts'
import { type Answer, statement } from '../../../database/connection/message.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RunOptions } from '../../../database/user-database.ts'
import { defaultAppId, type Identity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { findMismatch } from '../../../lib/is-of.ts'
import { Type } from '../../../lib/type.ts'
import { createWritesWithoutKey } from '../../data/idempotency/index.ts'
import { type Actor, actorOf } from './actor.ts'
import type { ByteStore } from './bytes/store.ts'
import { headersOf } from './download/serve.ts'
import { storageErrors } from './errors.ts'
import { bucketPattern, readObjectName } from './names.ts'
import { createCopier } from './objects/copy.ts'
import { listPage, listQuery } from './objects/list.ts'
import { firstValue, type ObjectLocation } from './objects/object-queries.ts'
import { createObjectService, type ObjectsDeps } from './objects/objects.ts'
import { discardStaged, translateStoreFailure } from './objects/staging.ts'
import { createUploader, type UploadDeps } from './objects/upload.ts'
import { readTags } from './requests.ts'
import { type AddressWrites, createAddressService } from './signing/addresses.ts'

/** Statements in the transaction of a call. */
export interface CallStatements {
  run(steps: readonly Step[]): Promise<readonly Answer[]>
  read(steps: readonly Step[], options: RunOptions): Promise<readonly Answer[]>
  /** Runs work whose statements are undone together when it throws. Other statements wait for its end. */
  nest<Result>(work: (statements: CallStatements) => Promise<Result>): Promise<Result>
}

/** Caller of `ctx.storage`, and the transaction of the call. */
export interface StorageTerms {
  readonly scope: CallerScope
  /** Identity of the request; undefined for a caller without one, such as a job. */
  readonly identity: Identity | undefined
  readonly statements: CallStatements
  /** Seals a request for the database. */
  readonly seal: (text: string) => Promise<string>
  /** Time limit of the call. */
  readonly seconds: number
  /** Reads bytes into memory, once few others do. */
  readonly whileReading: <Result>(read: () => Promise<Result>) => Promise<Result>
  readonly onCommit: (listener: () => void) => void
  /** Calls the listener once the transaction has been committed or rolled back. */
  readonly onEnd: (listener: () => void) => void
}

export const storageActions = [
  'upload',
  'download',
  'list',
  'delete',
  'sign',
  'signUpload',
  'revoke',
  'move',
  'copy',
] as const

/** Request of `ctx.storage`. Code of the operator may have made it of anything. */
export interface StorageRequest {
  readonly action: (typeof storageActions)[number]
  readonly bucket: string
  /** Name of the object; empty for a list. */
  readonly name: string
  readonly options: object
  readonly content: Buffer | undefined
}

/** Response to a function: JSON, and the bytes of a download. */
export interface StorageResponse {
  readonly body: string
  readonly content?: Buffer
}

/** Storage as functions use it. */
export interface FunctionStorage {
  /** @throws AppError */
  serve(request: StorageRequest, terms: StorageTerms): Promise<StorageResponse>
}

export interface FunctionStorageDeps {
  readonly isEnabled: boolean
  readonly database: SystemDatabase
  readonly store: ByteStore
  readonly objects: Omit<ObjectsDeps, 'database' | 'find' | 'writesOnce'>
  readonly maxFileSize: number
  readonly publicBaseUrl: () => string
}

/** Maximum number of bytes that pass the socket of the functions at once. As base64 they fit into a frame. */
const maxBytes = 10 * 1024 * 1024
/** Maximum number of attempts to open bytes that are replaced meanwhile. */
const attempts = 3

const storageStatement = statement('select basalt.storage_sealed($1, $2)')

/** Options that are read here. Others have no effect. */
const options = Type.Object({
  contentType: Type.Optional(Type.String()),
  ifMatch: Type.Optional(Type.String()),
  ifNoneMatch: Type.Optional(Type.Literal('*')),
  expiresIn: Type.Optional(Type.Integer()),
  range: Type.Optional(Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1, maxItems: 2 })),
  to: Type.Optional(Type.String()),
  toBucket: Type.Optional(Type.String()),
})

interface Options {
  readonly contentType?: string
  readonly ifMatch?: string
  readonly ifNoneMatch?: '*'
  readonly expiresIn?: number
  readonly range?: readonly [first: number, last?: number]
  readonly to?: string
  readonly toBucket?: string
}

/** Creates the storage of functions. Rows change in the transaction of a call, and unused bytes are removed after it. */
export function createFunctionStorage(deps: FunctionStorageDeps): FunctionStorage {
  return {
    async serve(request, terms) {
      if (!deps.isEnabled) throw storageErrors.storageNotEnabled()
      const { action, name } = request
      if ((request.content?.length ?? 0) > maxBytes) throw storageErrors.fileTooLarge(maxBytes)
      const bucket = readBucket(request.bucket)
      const actor = actorFor(terms)
      if (action === 'list') {
        const mismatch = findMismatch(listQuery.properties, request.options)
        if (mismatch !== undefined) throw httpErrors.invalidListParameter(mismatch, 'unexpected type')
        const page = await listPage(
          open(deps, terms, terms.statements).objects,
          actor,
          bucket,
          request.options,
        )
        return { body: JSON.stringify(page) }
      }
      const given = readOptions(request.options)
      const location = { bucket, name: readObjectName(name) }
      if (action === 'download') return await download(deps, terms, actor, location, given.range)
      return await terms.statements.nest(async (statements) => {
        const services = open(deps, terms, statements)
        const result = await actions[action](services, { actor, location, given, content: request.content })
        return { body: JSON.stringify(result) ?? 'null' }
      })
    },
  }
}

type Services = ReturnType<typeof open>

/** Opens the services of storage on the statements of a call. */
function open(deps: FunctionStorageDeps, terms: StorageTerms, statements: CallStatements) {
  const { database, store } = deps
  const { seconds, onCommit, onEnd } = terms
  const run = (_scope: CallerScope, steps: readonly Step[], runOptions: RunOptions) =>
    runOptions.isRead ? statements.read(steps, runOptions) : statements.run(steps)
  const stepOf = async (request: object): Promise<Step> => {
    const text = JSON.stringify(request)
    return { statement: storageStatement, values: [text, await terms.seal(`storage ${text}`)], asLogin: true }
  }
  const writesOnce = createWritesWithoutKey(run)
  const objects = createObjectService({
    ...deps.objects,
    database: { run },
    writesOnce,
    async find(bucket, name) {
      const [answer] = await statements.read([await stepOf({ kind: 'find', bucket, name })], { isRead: true })
      return firstValue(answer) ?? undefined
    },
    reaper: { wake: () => onCommit(deps.objects.reaper.wake) },
  })
  const write = async (request: object) => {
    const [answer] = await statements.run([await stepOf(request)])
    return firstValue(answer) ?? ''
  }
  const writes: AddressWrites = {
    async insert({ signatureHash, bucket, name, object, actor, scope, seconds }) {
      const { userId, sessionId, grantId, keyId, clientId, appId } = actor
      const result = await write({
        ...{ kind: 'sign', signatureHash: signatureHash.toString('hex'), bucket, name, scope, seconds },
        ...{ objectId: object?.id, ownerId: object?.userId },
        ...{ userId, sessionId, grantId, keyId, clientId, appId },
      })
      if (result === 'session ended') return undefined
      return result === 'object missing' ? null : Number(result)
    },
    delete: async (location, owner) =>
      Number(await write({ kind: 'revoke', ...location, owner: owner ?? null })),
  }
  const tracked: UploadDeps['objects'] = {
    async commitObject(actor, content, commitOptions) {
      const committed = await objects.commitObject(actor, content, commitOptions)
      // A rollback makes the bytes staged again.
      onEnd(() => void discardStaged(database, store, content.key))
      return committed
    },
  }
  const { maxFileSize } = deps
  const uploader = createUploader({ database, store, objects: tracked, maxFileSize, timeoutSeconds: seconds })
  return {
    objects,
    uploader,
    copier: createCopier({ database, store, objects: { ...objects, ...tracked }, uploader, writesOnce }),
    addresses: createAddressService({ database, objects, writes }),
    urlOf: ({ url }: { readonly url: string }) => ({
      url: `${deps.publicBaseUrl().replace(/\/$/, '')}${url}`,
    }),
  }
}

interface ObjectCall {
  readonly actor: Actor
  readonly location: ObjectLocation
  readonly given: Options
  readonly content: Buffer | undefined
}

/** Actions that write. */
const actions: Readonly<
  Record<
    Exclude<StorageRequest['action'], 'list' | 'download'>,
    (services: Services, call: ObjectCall) => Promise<unknown>
  >
> = {
  async upload({ uploader }, { actor, location, given, content = Buffer.alloc(0) }) {
    const { object, etag } = await uploader.receive(actor, {
      bucket: location.bucket,
      name: async () => location.name,
      declaredType: given.contentType,
      source: chunksOf(content),
      condition: { ifMatch: ifMatchOf(given), isNew: given.ifNoneMatch === '*' },
      // The server ends the calls of a caller who is no longer admitted.
      requireAllowed: async () => undefined,
    })
    return { ...object, etag: `"${etag}"` }
  },
  delete: ({ objects }, { actor, location, given }) =>
    objects.delete(actor, location, { condition: { ifMatch: ifMatchOf(given) } }),
  sign: async ({ addresses, urlOf }, { actor, location, given }) =>
    urlOf(await addresses.signDownload(actor, location, given.expiresIn)),
  async signUpload({ addresses, uploader, urlOf }, { actor, location, given }) {
    await uploader.limitOf(location.bucket)
    return urlOf(await addresses.signUpload(actor, location, given.expiresIn))
  },
  revoke: ({ addresses }, { actor, location }) => addresses.revoke(actor, location),
  move: ({ copier }, { actor, location, given }) =>
    copier.move(actor, location, destinationOf(location, given)),
  copy: ({ copier }, { actor, location, given }) =>
    copier.copy(actor, location, destinationOf(location, given)),
}

/** Reads an object, or a part of it, into memory. */
async function download(
  deps: FunctionStorageDeps,
  terms: StorageTerms,
  actor: Actor,
  { bucket, name }: ObjectLocation,
  range: Options['range'],
): Promise<StorageResponse> {
  const { objects } = open(deps, terms, terms.statements)
  // Bytes may be replaced between the read of the row and the opening of the file.
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const { object } = await objects.getReadable(actor, bucket, name)
    const { key, size, etag, updatedAt } = object
    const [start, last = size - 1] = range ?? [0]
    const end = Math.min(last, size - 1)
    if (range !== undefined && (start >= size || last < start)) throw storageErrors.rangeNotSatisfiable()
    if (end - start + 1 > maxBytes) throw storageErrors.fileTooLarge(maxBytes)
    const span = size === 0 ? undefined : { start, end }
    const content = await terms.whileReading(() => readBytes(deps.store, key, span))
    if (content === undefined) continue
    const headers = {
      ...headersOf(object),
      ...{ etag: `"${etag}"`, 'last-modified': new Date(updatedAt).toUTCString() },
      'content-length': String(content.length),
      ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
    }
    return { body: JSON.stringify({ status: range === undefined ? 200 : 206, headers }), content }
  }
  throw storageErrors.storageUnavailable().retryAfter(1)
}

async function readBytes(store: ByteStore, key: string, span: Parameters<ByteStore['read']>[1]) {
  try {
    const stream = await store.read(key, span)
    return stream === undefined ? undefined : await buffer(stream)
  } catch (error) {
    throw translateStoreFailure(error)
  }
}

/** Returns the actor of a call. A caller without an identity has no credential with which its addresses end. */
function actorFor({ scope, identity }: StorageTerms): Actor {
  if (identity !== undefined) return actorOf(identity)
  const userId = (scope.kind === 'caller' && scope.userId) || null
  const sessionId = scope.kind === 'caller' ? scope.sessionId || scope.userId || undefined : undefined
  return { scope, userId, sessionId, appId: defaultAppId }
}

/** @throws AppError bucket_not_found: no bucket has another name */
function readBucket(name: string): string {
  if (!new RegExp(bucketPattern).test(name)) throw storageErrors.bucketNotFound()
  return name
}

/** @throws AppError invalid_storage_option */
function readOptions(given: object): Options {
  const mismatch = findMismatch(options.properties, given)
  if (mismatch === 'expiresIn') throw storageErrors.invalidExpiry('expiresIn must be a number of seconds')
  if (mismatch !== undefined) throw storageErrors.invalidStorageOption(mismatch)
  // Each member has been checked.
  return given as Options
}

/** @throws AppError invalid_destination, invalid_object_name, bucket_not_found */
function destinationOf({ bucket }: ObjectLocation, { to, toBucket = bucket }: Options): ObjectLocation {
  if (to === undefined) throw storageErrors.invalidDestination('name is required')
  return { bucket: readBucket(toBucket), name: readObjectName(to) }
}

function ifMatchOf({ ifMatch }: Options) {
  return ifMatch === undefined ? undefined : (readTags(ifMatch) ?? '*')
}

async function* chunksOf(content: Buffer): AsyncIterable<Buffer> {
  yield content
}
