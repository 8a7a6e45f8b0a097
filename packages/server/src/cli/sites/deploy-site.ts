import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { Type } from '../../lib/type.ts'
import {
  encodeForm,
  expectShape,
  type ServerClient,
  ServerRefused,
  type ServerRequest,
} from '../server-client.ts'
import { formatBytes } from '../table.ts'
import type { Progress } from './progress.ts'
import type { BuildFile } from './read-build.ts'
import { type Deploy, deploySchema, type Site, sendForDeploy, sitesPath } from './site-api.ts'

/** Maximum number of concurrent uploads. */
const uploads = 8

export interface DeployPlan {
  readonly site: Site
  readonly directory: string
  readonly files: readonly BuildFile[]
  readonly isPromoted: boolean
  readonly signal: AbortSignal
  /** @param count number of files to send */
  progress(count: number): Progress
}

export interface DeployResult {
  readonly deploy: Deploy
  /** Number of files that the server did not have. */
  readonly uploaded: number
}

/** Sends the files that the server lacks, and makes the deploy live. An error fails the deploy. */
export async function deploySite(server: ServerClient, plan: DeployPlan): Promise<DeployResult> {
  const { id } = await sendForDeploy(server, `${plan.site.id}/deploys`)
  const path = `${plan.site.id}/deploys/${id}`
  try {
    const uploaded = await addFiles(server, `${sitesPath}/${path}`, plan)
    const { files, isPromoted, signal } = plan
    const deploy = expectShape(deploySchema, await send(server, 'GET', `${sitesPath}/${path}`, { signal }))
    if (deploy.fileCount !== files.length) {
      throw new OperatorError(`the deploy has ${deploy.fileCount} files of ${files.length}: deploy again`)
    }
    return { deploy: isPromoted ? await promote(server, path, signal) : deploy, uploaded }
  } catch (error) {
    const body = { errorMessage: messageOf(error).slice(0, 2000) }
    // It may have failed already. An abandoned deploy is removed after a day.
    await server.send('POST', `${sitesPath}/${path}/fail`, { body }).catch(() => undefined)
    throw error
  }
}

/** Adds the files to the deploy. @returns the number of sent files */
async function addFiles(server: ServerClient, path: string, plan: DeployPlan): Promise<number> {
  const { directory, files, signal } = plan
  const missing = new Set(await sendManifest(server, path, files, signal))
  const unknown = files.filter(({ sha256 }) => missing.has(sha256))
  const distinct = [...new Map(unknown.map((file) => [file.sha256, file])).values()]
  const size = formatBytes(files.reduce((sum, file) => sum + file.size, 0))
  const progress = plan.progress(distinct.length)
  progress.step(
    `${files.length} ${files.length === 1 ? 'file' : 'files'}, ${size}: ${distinct.length} to send`,
  )
  const queue = distinct.values()
  const stopping = new AbortController()
  const both = AbortSignal.any([signal, stopping.signal])
  const work = async () => {
    // All workers share the iterator.
    for (const file of queue) {
      await upload(server, `${path}/files`, directory, file, both)
      progress.advance(file.size)
    }
  }
  try {
    await Promise.all(Array.from({ length: uploads }, work))
  } catch (error) {
    stopping.abort(error)
    throw error
  } finally {
    progress.finish()
  }
  // These are copies under other names: the server now has their content.
  const copies = unknown.filter((file) => !distinct.includes(file))
  if (copies.length > 0) await sendManifest(server, path, copies, signal)
  return distinct.length
}

async function sendManifest(
  server: ServerClient,
  path: string,
  files: readonly BuildFile[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answer = await send(server, 'POST', `${path}/manifest`, { body: { files }, signal })
  return expectShape(Type.Object({ missing: Type.Array(Type.String()) }), answer).missing
}

async function upload(
  server: ServerClient,
  path: string,
  directory: string,
  file: BuildFile,
  signal: AbortSignal,
): Promise<void> {
  const form = new FormData()
  form.append('name', file.path)
  form.append('file', new Blob([await readBytes(join(directory, file.path))]), 'file')
  try {
    await send(server, 'POST', path, { form: await encodeForm(form), signal })
  } catch (error) {
    throw error instanceof ServerRefused ? new OperatorError(`${file.path}: ${error.message}`) : error
  }
}

async function readBytes(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new OperatorError(`${path} can no longer be read: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Makes the deploy live. When its response was lost, the repeated request is rejected, because the deploy is
 * live already.
 */
async function promote(server: ServerClient, path: string, signal: AbortSignal): Promise<Deploy> {
  try {
    return expectShape(deploySchema, await send(server, 'POST', `${sitesPath}/${path}/promote`, { signal }))
  } catch (error) {
    if (!(error instanceof ServerRefused) || error.status !== 409) throw error
    const deploy = expectShape(deploySchema, await send(server, 'GET', `${sitesPath}/${path}`, { signal }))
    if (deploy.status === 'live') return deploy
    throw error
  }
}

/** Sends a request that may be repeated, as all requests of a deploy may. */
function send(server: ServerClient, method: string, path: string, request: ServerRequest): Promise<unknown> {
  return server.send(method, path, { ...request, isRepeatable: true })
}
