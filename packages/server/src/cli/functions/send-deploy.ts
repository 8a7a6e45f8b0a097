import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../../lib/errors.ts'
import { tarEnd, tarHeader, tarPadding } from '../../lib/tar.ts'
import { type Static, Type } from '../../lib/type.ts'
import { expectShape, type ServerClient } from '../server-client.ts'
import type { PackedFile } from './pack.ts'

export const functionsPath = '/api/admin/functions'

/** Response members that the commands read. */
export const deploySchema = Type.Object({
  hash: Type.String(),
  fileCount: Type.Integer(),
  totalBytes: Type.Integer(),
  isLive: Type.Boolean(),
  createdAt: Type.String(),
})
export type FunctionDeploy = Static<typeof deploySchema>

const createdSchema = Type.Object({ deploy: deploySchema, missing: Type.Array(Type.String()) })

/** Number of bytes after which an archive is sent. */
const archiveBytes = 4 * 1024 * 1024

/** Sends the contents that the server lacks, and makes the deploy live. All requests may be repeated. */
export async function sendDeploy(
  server: ServerClient,
  files: readonly PackedFile[],
  { install, step }: { readonly install: boolean; readonly step: (text: string) => void },
): Promise<{ readonly deploy: FunctionDeploy; readonly sent: number }> {
  const manifest = files.map(({ path, sha256, size }) => ({ path, sha256, size }))
  const answer = await server.send('POST', `${functionsPath}/deploys`, {
    body: { files: manifest, ...(install ? { install } : {}) },
    isRepeatable: true,
  })
  const { deploy, missing } = expectShape(createdSchema, answer)
  const lacking = new Set(missing)
  const distinct = new Map(
    files.filter(({ sha256 }) => lacking.has(sha256)).map((file) => [file.sha256, file]),
  )
  step(`${files.length} files, ${distinct.size} to send`)
  await sendContents(server, [...distinct.values()])
  if (install) step('the server installs the packages')
  const promoted = await server.send('POST', `${functionsPath}/deploys/${deploy.hash}/promote`, {
    isRepeatable: true,
  })
  return { deploy: expectShape(deploySchema, promoted), sent: distinct.size }
}

const loadedSchema = Type.Object({
  deploy: Type.Union([Type.String(), Type.Null()]),
  failure: Type.Union([Type.Null(), Type.Object({ deploy: Type.Union([Type.String(), Type.Null()]) })]),
  items: Type.Array(Type.Object({ name: Type.String(), admin: Type.Optional(Type.Boolean()) })),
})

/** Maximum wait for the server to load a deploy, and the pause between two requests. */
const loadWaitMs = 10_000
const loadPauseMs = 200

/** Returns the names of the functions with `admin: true`, once the server has loaded the deploy; null if it has not, or not in time. */
export async function findAdminFunctions(
  server: ServerClient,
  hash: string,
): Promise<readonly string[] | null> {
  const deadline = performance.now() + loadWaitMs
  for (;;) {
    const loaded = expectShape(loadedSchema, await server.send('GET', functionsPath))
    if (loaded.deploy === hash)
      return loaded.items.filter(({ admin }) => admin === true).map(({ name }) => name)
    if (loaded.failure?.deploy === hash || performance.now() >= deadline) return null
    await delay(loadPauseMs)
  }
}

async function sendContents(server: ServerClient, files: readonly PackedFile[]): Promise<void> {
  let parts: Buffer[] = []
  let size = 0
  const flush = async () => {
    if (parts.length === 0) return
    const content = { type: 'application/x-tar', bytes: new Blob([Buffer.concat([...parts, tarEnd])]) }
    await server.send('POST', `${functionsPath}/files`, { content, isRepeatable: true })
    parts = []
    size = 0
  }
  for (const { source, sha256 } of files) {
    const bytes = await readFile(source)
    if (createHash('sha256').update(bytes).digest('hex') !== sha256)
      throw new OperatorError(`${source} has changed during the deploy: deploy again`)
    const header = tarHeader({ path: sha256, kind: 'file', size: bytes.length }, new Date(0))
    parts.push(header, bytes, tarPadding(bytes.length))
    size += bytes.length
    if (size >= archiveBytes) await flush()
  }
  await flush()
}
