import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Resource that a test process has started and that outlives the process when it is killed. */
export type Resource =
  /** Directory below which Postgres and servers may run. */
  { readonly directory: string } | { readonly pid: number }

const script = fileURLToPath(new URL('clean-up.ts', import.meta.url))
let cleaner: ChildProcess | undefined

/**
 * Stops and removes the resource when this process ends without doing so. A separate process reads a pipe from this one
 * and cleans up at the end of file.
 *
 * @returns function that releases the resource, once it has been removed
 */
export function cleanUpAfterKill(resource: Resource): () => void {
  send({ add: resource })
  return () => send({ remove: resource })
}

function send(message: { readonly add: Resource } | { readonly remove: Resource }): void {
  cleaner ??= start()
  cleaner.stdin?.write(`${JSON.stringify(message)}\n`)
}

function start(): ChildProcess {
  // A process group of its own, because Ctrl-C reaches the terminal's whole group.
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
  child.unref()
  // The pipe alone keeps no process running. Node's types declare any stream.
  const pipe = child.stdin as unknown as { unref?: () => void } | null
  pipe?.unref?.()
  child.stdin?.on('error', () => undefined)
  return child
}
