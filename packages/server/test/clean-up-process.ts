import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a test process has started, and what is left of it when the process is killed. */
export type Resource =
  /** A directory below which Postgres and servers may run. */
  { readonly directory: string } | { readonly pid: number }

const script = fileURLToPath(new URL('clean-up.ts', import.meta.url))
let cleaner: ChildProcess | undefined

/**
 * Has the resource stopped and removed when this process ends without doing so, however it ends: a process of its own
 * reads a pipe from this one, and cleans up at the end of file.
 *
 * @returns how to release it, when it has been removed
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
  // A process group of its own: Ctrl-C reaches all of the terminal's.
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'ignore', 'inherit'], detached: true })
  child.unref()
  // The pipe alone keeps no process running; in Node's types it is any stream.
  const pipe = child.stdin as unknown as { unref?: () => void } | null
  pipe?.unref?.()
  child.stdin?.on('error', () => undefined)
  return child
}
