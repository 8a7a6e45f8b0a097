import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Makes a child end when this process is killed. A child in an endless loop does not notice the end of its socket, and its
 * permissions allow no thread that could. So a shell waits for the end of a pipe that only this process holds, and kills it then.
 *
 * @returns function for a child that has ended, to stop the shell
 */
export function endWithParent({ pid }: ChildProcess): () => void {
  if (pid === undefined) return () => undefined
  const watch = spawn('/bin/sh', ['-c', 'read -r line; kill -KILL "$1"', 'sh', String(pid)], {
    // A signal of the terminal to the group of the server must not end it first.
    detached: true,
    env: {},
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without a shell, a child still ends with its socket unless it is blocked.
  watch.on('error', () => undefined)
  watch.unref()
  watch.stdin?.on('error', () => undefined)
  // The pipe of a child process is a socket, which must not keep this process running.
  ;(watch.stdin as Partial<{ unref(): void }> | null)?.unref?.()
  return () => void watch.kill('SIGKILL')
}
