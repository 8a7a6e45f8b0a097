import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { holds } from '../../../http/access/permissions.ts'
import { addOperations, created, ok, operation } from '../../../http/operation.ts'
import { acceptRaw } from '../../../http/requests/body.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { binary, bodyOf, checkedByHandler, listOf, refusedWith } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { codeOf } from '../../../lib/errors.ts'
import { readTar, TarError } from '../../../lib/tar.ts'
import { Type } from '../../../lib/type.ts'
import { recordAdminAction } from '../../operations/audit/index.ts'
import * as deploys from './deploy.ts'
import { FunctionDeploy } from './deploy.ts'
import { DamagedFile } from './deploy-folder.ts'
import { deployErrors } from './errors.ts'
import { explainDiskError, InstallFailed } from './install.ts'
import type { LiveFunctions } from './live-functions.ts'
import { deploySizeLimit, fileCountLimit, hashManifest, requireManifest } from './manifest.ts'
import { findForeignPackages } from './native-modules.ts'
import type { TrialLoads } from './trial-loads.ts'

export interface DeployDeps {
  readonly database: SystemDatabase
  readonly live: Pick<LiveFunctions, 'refresh' | 'writeFolder'>
  readonly trials: Pick<TrialLoads, 'findProblem'>
}

/** Members that all operations below share. */
const common = { guard: 'admin', permission: 'owner', tag: 'functions' } as const
const collection = '/api/admin/functions/deploys'
const params = Type.Object({
  hash: refusedWith({ invalid: deployErrors.invalidDeployHash }, Type.String({ pattern: '^[0-9a-f]{64}$' })),
})

const list = operation({
  ...common,
  permission: 'operations.read',
  id: 'functions.listDeploys',
  method: 'GET',
  path: collection,
  summary: 'List deploys of functions',
  description: 'Returns the latest first.',
  success: ok(listOf(FunctionDeploy)),
  async handle({ database }: DeployDeps, { http }) {
    const mayRead = holds(adminOf(http).role, 'bodies.read')
    const listed = await deploys.listDeploys(database)
    const items = mayRead ? listed : listed.map((deploy) => ({ ...deploy, promotedBy: null }))
    return { items, count: items.length }
  },
})

const create = operation({
  ...common,
  id: 'functions.createDeploy',
  method: 'POST',
  path: collection,
  summary: 'Create a deploy of functions',
  description:
    'Names all files by the hash of their content. The response names those whose content has to be sent. The same files are the same deploy.',
  body: Type.Object({
    files: Type.Array(
      Type.Object({
        path: Type.String({ description: 'Relative path with slashes, such as `functions/checkout.ts`.' }),
        sha256: checkedByHandler({ pattern: '^[0-9a-f]{64}$' }, Type.String()),
        size: checkedByHandler({ minimum: 0 }, Type.Integer()),
      }),
      { maxItems: fileCountLimit },
    ),
    install: Type.Optional(
      Type.Boolean({
        description:
          'True if each node installs the packages by `npm ci`. The files then have a `package-lock.json` and no packages. Default: false.',
      }),
    ),
  }),
  bodyLimit: 16 * 1024 * 1024,
  success: created(Type.Object({ deploy: FunctionDeploy, missing: Type.Array(Type.String()) })),
  async handle({ database }: DeployDeps, { body: { files, install = false }, origin }) {
    requireManifest(files, install)
    const hash = hashManifest(files, install)
    return await database.transaction(async (transaction) => {
      await deploys.holdBlobs(transaction)
      await deploys.insertDeploy(transaction, hash, files, install)
      await recordAdminAction(transaction, 'functions.create_deploy', hash, origin, { files: files.length })
      const missing = await deploys.listMissing(transaction, hash)
      return { deploy: await getDeploy(transaction, hash), missing }
    })
  },
})

const promote = operation({
  ...common,
  id: 'functions.promoteDeploy',
  method: 'POST',
  path: `${collection}/:hash/promote`,
  summary: 'Make a deploy of functions live',
  description:
    'This node first loads the functions, after an installation if nodes install the packages. Functions that cannot be loaded do not become live. Then every node loads the deploy within a second. The live deploy may be promoted again without effect.',
  params,
  success: ok(FunctionDeploy),
  async handle(deps: DeployDeps, { params: { hash }, origin }) {
    await requireLoadable(deps, hash)
    return await changeLive(deps, 'functions.promote', origin, async (transaction, live) => {
      await getDeploy(transaction, hash)
      if (live === hash) return hash
      await deploys.holdBlobs(transaction)
      const missing = await deploys.listMissing(transaction, hash)
      if (missing.length > 0) throw deployErrors.functionDeployIncomplete(missing.length)
      await deploys.appendToHistory(transaction, hash)
      return hash
    })
  },
})

const rollback = operation({
  ...common,
  id: 'functions.rollback',
  method: 'POST',
  path: `${collection}/rollback`,
  summary: 'Make the previous live deploy of functions live again',
  description: 'Repeated calls go further back. The replaced deploy can be promoted again for a day.',
  success: ok(FunctionDeploy),
  async handle(deps: DeployDeps, { origin }) {
    return await changeLive(deps, 'functions.rollback', origin, async (transaction, live) => {
      const earlier = live === null ? undefined : await deploys.takeFromHistory(transaction, live)
      if (earlier === undefined) throw deployErrors.noEarlierFunctionDeploy()
      return earlier
    })
  },
})

const sendFiles = operation({
  ...common,
  id: 'functions.sendFiles',
  method: 'POST',
  path: '/api/admin/functions/files',
  summary: 'Send contents of files of deploys',
  description:
    'A tar archive with the missing contents of a deploy, or some of them. The names of the entries have no meaning.',
  documentedBody: bodyOf('application/x-tar', binary),
  bodyLimit: deploySizeLimit + 16 * 1024 * 1024,
  success: ok(Type.Object({ files: Type.Integer({ description: 'Number of files in the archive.' }) })),
  async handle({ database }: DeployDeps, { body }) {
    const blobs = await readArchive(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
    if (blobs.length > 0) await deploys.insertBlobs(database, blobs)
    return { files: blobs.length }
  },
})

/** Adds the routes of deploys. */
export function addDeployRoutes(app: HttpServer, deps: DeployDeps): void {
  addOperations(app, deps, [list, create, rollback, promote])
  void app.register(async (scope: HttpServer) => {
    acceptRaw(scope)
    addOperations(scope, deps, [sendFiles])
  })
}

/** @throws AppError function_deploy_not_found */
async function getDeploy(database: Queryable, hash: string): Promise<FunctionDeploy> {
  const deploy = await deploys.findDeploy(database, hash)
  if (deploy === undefined) throw deployErrors.functionDeployNotFound()
  return deploy
}

/**
 * Writes a deploy to the disk of this node with its packages, and loads it in a process of its own. No lock is held meanwhile.
 *
 * @throws AppError function_deploy_not_found, function_deploy_incomplete, foreign_native_modules, function_install_failed,
 * function_deploy_unloadable, functions_unavailable
 */
async function requireLoadable(deps: DeployDeps, hash: string): Promise<void> {
  const { database, trials } = deps
  const { installs, isLive } = await getDeploy(database, hash)
  if (isLive) return
  const missing = await deploys.listMissing(database, hash)
  if (missing.length > 0) throw deployErrors.functionDeployIncomplete(missing.length)
  await requireNativeModules(database, hash)
  const folder = await writeFolder(deps, hash, installs)
  const problem = await trials.findProblem(folder, hash)
  if (problem !== undefined) throw deployErrors.functionDeployUnloadable(problem)
}

/** @throws AppError function_install_failed, function_deploy_unloadable */
async function writeFolder({ live }: DeployDeps, hash: string, installs: boolean): Promise<string> {
  try {
    return await live.writeFolder(hash)
  } catch (error) {
    const isExplained = error instanceof InstallFailed || error instanceof DamagedFile
    const problem = isExplained ? error.message : explainDiskError(codeOf(error))
    if (problem === undefined) throw error
    throw installs
      ? deployErrors.functionInstallFailed(problem)
      : deployErrors.functionDeployUnloadable(problem)
  }
}

/** Changes the live deploy. Changes run one after the other. @param work returns the hash of the deploy to make live */
async function changeLive(
  { database, live }: DeployDeps,
  action: string,
  origin: RequestOrigin,
  work: (transaction: Queryable, live: string | null) => Promise<string>,
): Promise<FunctionDeploy> {
  const deploy = await database.transaction(async (transaction) => {
    const previous = await deploys.lockLive(transaction)
    const hash = await work(transaction, previous)
    if (hash !== previous) await deploys.setLive(transaction, hash)
    await recordAdminAction(transaction, action, hash, origin, { previous })
    return await getDeploy(transaction, hash)
  })
  await live.refresh()
  return deploy
}

/** @throws AppError foreign_native_modules */
async function requireNativeModules(database: Queryable, hash: string): Promise<void> {
  const platform = `${process.platform}-${process.arch}`
  const foreign = findForeignPackages(await deploys.listNativeModules(database, hash), platform)
  if (foreign.length > 0) throw deployErrors.foreignNativeModules(platform, foreign.join(', '))
}

/** @throws AppError invalid_function_archive */
async function readArchive(body: Buffer): Promise<{ sha256: Buffer; bytes: Buffer }[]> {
  const blobs: { sha256: Buffer; bytes: Buffer }[] = []
  try {
    for await (const { kind, body: content } of readTar(oneChunk(body))) {
      const bytes = await buffer(content)
      if (kind !== 'file') throw deployErrors.invalidFunctionArchive('it contains a directory')
      blobs.push({ sha256: createHash('sha256').update(bytes).digest(), bytes })
    }
  } catch (error) {
    if (error instanceof TarError) throw deployErrors.invalidFunctionArchive(error.message)
    throw error
  }
  return blobs
}

async function* oneChunk(body: Buffer): AsyncGenerator<Buffer> {
  yield body
}
